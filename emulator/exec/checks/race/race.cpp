// The race check: compares each access with the earlier ones to the same bytes, in the memory of
// the block and in global memory.
#include "emulator/exec/checks/race/access.hpp"
#include "emulator/exec/checks/race/lanes.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace lode::emulator::exec {

u64 strength_of(const Op* op, Access access) {
    const MemoryOrder order = op->order;
    if ((order.data || order.validated) && access == Access::read)
        return order.data ? 0 : stamp_gpu;
    if (order.gpu) return stamp_gpu;
    if (order.cta) return stamp_cta;
    return access == Access::atomic || access == Access::exchange ? stamp_gpu : 0;
}

namespace {

bool is_ordered(const RaceAccess& a, u32 lane, Stamp before) {
    return a.order.ordered(a.c.warp->index, lane, before, block_of(a, before));
}

/// Whether two accesses are strong for each other's threads.
bool is_compatible(const RaceAccess& a, Stamp before) {
    const u64 other = before & (stamp_cta | stamp_gpu);
    if (a.strength == 0 || other == 0 || stamp_is_covered(before)) return false;
    if (block_of(a, before) == a.order.block) return true;
    return (a.strength & stamp_gpu) != 0 && (other & stamp_gpu) != 0;
}

/// Whether a store leaves memory as it is, or as another lane's store of the same op makes it.
bool is_equal_value(const RaceAccess& a, u32 lane, const u64* addresses, Stamp before) {
    if (a.noted.fetch == nullptr) return false;
    u8 mine[64];
    a.noted.fetch(a.c, a.op, lane, mine);
    const u32 other = stamp_thread(before) - a.c.warp->index * lanes;
    if (block_of(a, before) == a.order.block && other < lanes && other != lane &&
        ((a.c.mask >> other) & 1) != 0 && addresses[other] == addresses[lane]) {
        u8 theirs[64];
        a.noted.fetch(a.c, a.op, other, theirs);
        return std::equal(mine, mine + a.noted.bytes, theirs);
    }
    u8 now[64];
    copy_shared_bytes(
        now, a.shared ? a.memory + addresses[lane] : reinterpret_cast<const u8*>(addresses[lane]),
        a.noted.bytes);
    return std::equal(mine, mine + a.noted.bytes, now);
}

/// Whether the first of two accesses of this launch comes after the other, as far as stamps tell;
/// both are ordered before an access now. What is ordered after it then also is ordered after the
/// other.
bool comes_after(Stamp s, Stamp other) {
    return stamp_block(s) != stamp_block(other) || stamp_time(s) >= stamp_time(other);
}

/// Whether a volatile load for data reads what a strong load has seen since it was written: by the
/// same thread or, of global memory, by its block. One location never goes back to an older value.
bool has_seen(const RaceAccess& a, Stamp own, Stamp read) {
    if (!a.op->order.data || read == 0 || (read & stamp_async) != 0) return false;
    return a.shared ? ((read ^ own) & stamp_thread_bits) == 0 : block_of(a, read) == a.order.block;
}

}  // namespace

RaceAccess race_access(WarpContext& c, const Op* op, bool shared, const Noted& noted) {
    BlockOrder& order = *c.block->order;
    const WarpOrder& warp = order.warps[c.warp->index];
    const u64 strength = strength_of(op, noted.access);
    const u64 block = shared ? 0 : order.block;
    const u64 base = block << stamp_block_shift;
    const auto end = static_cast<i64>(base + ((u64{warp.floor} + 1) << stamp_time_shift));
    const auto oldest = static_cast<i64>(c.launch->accesses->first_block << stamp_block_shift);
    return {c,
            op,
            noted,
            order,
            order,
            c.shared,
            shared,
            site_of(op->cache),
            strength,
            stamp_of(block, order.time, strength, c.warp->index * lanes),
            shared ? HappenedBefore{end, end, end}
                   : HappenedBefore{oldest, static_cast<i64>(base), end}};
}

void check_lane(const RaceAccess& a, u32 lane, const u64* addresses) {
    const u64 address = addresses[lane];
    if (a.shared && address + a.noted.bytes > a.c.shared_bytes) return;
    const Place place = place_of_cells(a, address, a.noted.bytes);
    if (place.cells == nullptr) return;
    Cells& cells = *place.cells;
    const Stamp own = a.own + lane;
    const u32 granules = std::max(1u, a.noted.bytes >> cells.shift);
    const auto is_past = [&](Stamp before) {
        return is_harmless(before, own, a.past) || is_ordered(a, lane, before);
    };
    const auto conflicts = [&](Stamp before) {
        return !is_past(before) && !is_compatible(a, before);
    };
    // Accesses of earlier launches are ordered before all of this one.
    const Stamp launch = a.shared ? Stamp{1} : static_cast<Stamp>(a.past.oldest);
    for (u32 k = place.index; k < place.index + granules && k < cells.count; ++k) {
        const Stamp write = cells.write.at(k);
        const Stamp first = cells.first.at(k);
        const Stamp read = cells.last.at(k);
        const bool has_second = stamp_is_second_write(read);
        const Stamp last = has_second ? strong_write_of(read) : read;
        const bool on_write = conflicts(write);
        if (!a.writes()) {
            const bool on_second = !on_write && has_second && conflicts(last);
            if (on_second)
                report_race(a, lane, address, {last, cells.last.site_at(k), true}, false);
            if (on_write && !has_seen(a, own, first) && !has_seen(a, own, read))
                report_race(a, lane, address, {write, cells.write.site_at(k), true}, false);
            if (is_past(first)) {
                cells.first.set(k, own, a.site);
            } else if (!has_second || is_past(last)) {
                cells.last.set(k, own, a.site);
            }
            continue;
        }
        if (on_write || conflicts(first) || conflicts(last)) {
            const EarlierAccess before =
                on_write           ? EarlierAccess{write, cells.write.site_at(k), true}
                : conflicts(first) ? EarlierAccess{first, cells.first.site_at(k), false}
                                   : EarlierAccess{last, cells.last.site_at(k), has_second};
            const bool benign = is_equal_value(a, lane, addresses, before.stamp);
            report_race(a, lane, address, before, benign);
            if (benign) continue;
        }
        const bool on_strong = write != 0 && !stamp_is_weak(write) && !stamp_is_covered(write);
        if (a.strength != 0 && on_strong && !is_past(write)) {
            // If several strong writes are in no order, two are kept that are far from each other.
            if (!has_second || is_past(last) || distance(last, write) <= distance(own, write))
                cells.last.set(k, second_write(own), a.site);
            continue;
        }
        if (a.strength == 0) {
            if (first != 0) cells.first.set(k, 0, 0);
            if (read != 0) cells.last.set(k, 0, 0);
        } else if (stamp_is_weak(write) && write >= launch && (write & stamp_async) == 0 &&
                   is_harmless(first, nobody, a.past) &&
                   (first < launch || !comes_after(first, write))) {
            // A strong write doesn't order weak accesses before other strong ones.
            cells.first.set(k, write | stamp_covered, cells.write.site_at(k));
        }
        cells.write.set(k, own, a.site);
    }
}

namespace {

/// Accesses by single lanes to global memory, with a closer look where one is needed.
class GlobalLanes {
public:
    GlobalLanes(const RaceAccess& a, const u64* addresses, u32 mask)
        : a_(a),
          addresses_(addresses),
          mask_(mask),
          cells_(a.c.launch->accesses->cells),
          region_(cells_.region_of(addresses[std::countr_zero(mask)])),
          tracks_(a, region_.arrays) {}

    /// Weak accesses to this many granules of 4 bytes each.
    template <bool writes, u32 granules>
    LODE_RACES_BY_DESIGN void record_words() {
        // Copies, which the stores don't make the compiler read again.
        const LaneTracks<false> tracks = tracks_;
        const u64 first = region_.first;
        const u64 bytes = region_.bytes;
        const u64* const addresses = addresses_;
        const Stamp own = a_.own;
        each_lane(
            mask_, [&](u32 i) __attribute__((always_inline)) {
                const u64 at = addresses[i] - first;
                if (at >= bytes || tracks.is_elsewhere(at / 4) ||
                    !tracks.record_quickly<writes, granules>(at / 4, own + i)) [[unlikely]]
                    record_in_page<writes>(i);
            });
        cells_.count_rows(tracks.fresh_rows());
    }
    /// Weak accesses of any size.
    template <bool writes>
    void record_any() {
        each_lane(mask_, [&](u32 i) { record_in_page<writes>(i); });
    }
    /// Strong writes of words.
    LODE_RACES_BY_DESIGN void record_strong() {
        each_lane(
            mask_, [&](u32 i) __attribute__((always_inline)) {
                const u64 at = addresses_[i] - region_.first;
                if (at >= region_.bytes || tracks_.is_elsewhere(at / 4) ||
                    !tracks_.record_strong(at / 4, a_.own + i))
                    check_lane(a_, i, addresses_);
            });
        cells_.count_rows(tracks_.fresh_rows());
    }

private:
    template <bool writes>
    [[gnu::noinline]] LODE_RACES_BY_DESIGN void record_in_page(u32 i) {
        const u64 at = addresses_[i];
        const u32 bytes = a_.noted.bytes;
        if (at / GlobalCells::page_bytes != page_) {
            page_ = at / GlobalCells::page_bytes;
            page_cells_ = cells_.find(at, bytes < 4);
            page_tracks_.reset();
            if (page_cells_ != nullptr) page_tracks_.emplace(a_, page_cells_->arrays);
        }
        if (page_cells_ == nullptr) return;
        const auto k = static_cast<u32>(at % GlobalCells::page_bytes) >> page_cells_->shift;
        const u32 granules = std::max(1u, bytes >> page_cells_->shift);
        const Stamp own = a_.own + i;
        const bool quick = granules == 1   ? page_tracks_->record_quickly<writes, 1>(k, own)
                           : granules == 2 ? page_tracks_->record_quickly<writes, 2>(k, own)
                                           : false;
        if (!quick &&
            !page_tracks_->record<writes>(k, std::min(granules, page_cells_->count - k), own))
            check_lane(a_, i, addresses_);
    }

    const RaceAccess& a_;
    const u64* addresses_;
    u32 mask_;
    GlobalCells& cells_;
    const GlobalCells::Region region_;
    const LaneTracks<false> tracks_;
    u64 page_ = ~u64{0};  ///< The page of the following.
    Cells* page_cells_ = nullptr;
    std::optional<LaneTracks<false>> page_tracks_;
};

template <bool writes>
void record_weak(GlobalLanes& lanes_of, u32 bytes) {
    switch (bytes) {
        case 4:
            return lanes_of.record_words<writes, 1>();
        case 8:
            return lanes_of.record_words<writes, 2>();
        case 16:
            return lanes_of.record_words<writes, 4>();
        case 32:
            return lanes_of.record_words<writes, 8>();
        default:
            return lanes_of.record_any<writes>();
    }
}

}  // namespace

void race_global_lanes(const RaceAccess& a, const u64* addresses, u32 mask) {
    if (mask == 0) return;
    GlobalLanes accesses(a, addresses, mask);
    if (a.strength == 0) {
        return a.writes() ? record_weak<true>(accesses, a.noted.bytes)
                          : record_weak<false>(accesses, a.noted.bytes);
    }
    const bool usual = a.writes() && a.noted.bytes == 4 && (a.strength & stamp_gpu) != 0;
    if (usual && a.only_floor()) return accesses.record_strong();
    each_lane(mask, [&](u32 i) { check_lane(a, i, addresses); });
}

void race_lanes(WarpContext& c, const Op* op, bool shared, const u64* addresses,
                const Noted& noted) {
    if (c.block->order->spent || (!shared && reads_unwritten(c, op))) return;
    const RaceAccess a = race_access(c, op, shared, noted);
    if (!shared) return race_global_lanes(a, addresses, c.mask);
    race_shared_lanes(a, addresses);
}

void find_unwritten(const Launch& launch) {
    const DecodedKernel& kernel = *launch.kernel;
    std::vector<std::atomic<bool>>& unwritten = launch.accesses->unwritten;
    unwritten = std::vector<std::atomic<bool>>(kernel.access_parameters.size());
    if (!launch.options->checks.memory) return;
    const auto home_of = [&](u32 parameter) -> std::optional<Allocation> {
        if (parameter == no_parameter_offset) return std::nullopt;
        u64 base = 0;
        std::memcpy(&base, launch.parameters.data() + parameter, sizeof base);
        std::optional<Allocation> home = launch.memory->find(base);
        if (home && !is_apart(*home)) home.reset();
        return home;
    };
    std::vector<u64> written;
    for (const u32 parameter : kernel.written_parameters) {
        const auto home = home_of(parameter);
        if (!home) return;
        written.push_back(home->address);
    }
    for (std::size_t k = 0; k < unwritten.size(); ++k) {
        const auto home = home_of(kernel.access_parameters[k]);
        unwritten[k] = home && std::ranges::find(written, home->address) == written.end();
    }
}

void race_remote(WarpContext& c, const Op* op, u32 lane, Block& owner, u32 offset,
                 const Noted& noted) {
    BlockOrder& order = *c.block->order;
    if (order.spent || owner.order->spent) return;
    const u64 strength = strength_of(op, noted.access);
    const u64 rank = c.block->rank + u64{1};
    // Only a thread's own accesses need no closer look.
    const RaceAccess a{c,
                       op,
                       noted,
                       order,
                       *owner.order,
                       owner.shared.data(),
                       true,
                       site_of(op->cache),
                       strength,
                       stamp_of(rank, order.time, strength, c.warp->index * lanes),
                       HappenedBefore{1, 0, 0}};
    alignas(32) u64 addresses[lanes] = {};
    addresses[lane] = offset;
    check_lane(a, lane, addresses);
}

}  // namespace lode::emulator::exec
