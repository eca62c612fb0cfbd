// The race check: compares each access with the earlier ones to the same bytes, in the memory of
// the block and in global memory.
#include "emulator/decode/ops/order.hpp"
#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/race_access.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace lode::emulator::exec {

namespace {

u64 strength_of(const Op* op, Access access) {
    if ((op->flags2 & (order_data | order_validated)) != 0 && access == Access::read)
        return (op->flags2 & order_data) != 0 ? 0 : stamp_gpu;
    const u16 flags = op->flags2 & order_strong;
    if ((flags & order_gpu) != 0) return stamp_gpu;
    if (flags != 0) return stamp_cta;
    return access == Access::atomic || access == Access::exchange ? stamp_gpu : 0;
}

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

/// How far the threads of two accesses are from each other: in one warp, in one block, or not.
u32 distance(Stamp x, Stamp y) {
    if (stamp_block(x) != stamp_block(y)) return 2;
    return stamp_thread(x) / lanes != stamp_thread(y) / lanes ? 1 : 0;
}

/// Whether a volatile load for data reads what a strong load has seen since it was written: by the
/// same thread or, of global memory, by its block. One location never goes back to an older value.
bool has_seen(const RaceAccess& a, Stamp own, Stamp read) {
    if ((a.op->flags2 & order_data) == 0 || read == 0 || (read & stamp_async) != 0) return false;
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
            shared ? Past{end, end, end} : Past{oldest, static_cast<i64>(base), end}};
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
        return plain(before, own, a.past) || is_ordered(a, lane, before);
    };
    const auto conflicts = [&](Stamp before) {
        return !is_past(before) && !is_compatible(a, before);
    };
    for (u32 k = place.index; k < place.index + granules && k < cells.count; ++k) {
        const Stamp write = cells.write.at(k);
        const Stamp first = cells.first.at(k);
        const Stamp read = cells.last.at(k);
        const bool has_second = stamp_is_second_write(read);
        const Stamp last = has_second ? strong_write_of(read) : read;
        const bool on_write = conflicts(write);
        if (!a.writes()) {
            const bool on_second = !on_write && has_second && conflicts(last);
            if (on_second) tell_race(a, lane, address, {last, cells.last.site_at(k), true}, false);
            if (on_write && !has_seen(a, own, first) && !has_seen(a, own, read))
                tell_race(a, lane, address, {write, cells.write.site_at(k), true}, false);
            if (is_past(first)) {
                cells.first.set(k, own, a.site);
            } else if (!has_second || is_past(last)) {
                cells.last.set(k, own, a.site);
            }
            continue;
        }
        if (on_write || conflicts(first) || conflicts(last)) {
            const Earlier before = on_write ? Earlier{write, cells.write.site_at(k), true}
                                   : conflicts(first)
                                       ? Earlier{first, cells.first.site_at(k), false}
                                       : Earlier{last, cells.last.site_at(k), has_second};
            const bool benign = is_equal_value(a, lane, addresses, before.stamp);
            tell_race(a, lane, address, before, benign);
            if (benign) continue;
        }
        const bool on_strong = write != 0 && !stamp_is_weak(write) && !stamp_is_covered(write);
        if (a.strength != 0 && on_strong && !is_past(write)) {
            // Of several strong writes in no order, two are kept that are far from each other.
            if (!has_second || is_past(last) || distance(last, write) <= distance(own, write))
                cells.last.set(k, second_write(own), a.site);
            continue;
        }
        if (a.strength == 0) {
            if (first != 0) cells.first.set(k, 0, 0);
            if (read != 0) cells.last.set(k, 0, 0);
        } else if (stamp_is_weak(write) && write != 0 && (write & stamp_async) == 0 &&
                   plain(first, nobody, a.past)) {
            // A strong write doesn't order weak accesses before other strong ones.
            cells.first.set(k, write | stamp_covered, cells.write.site_at(k));
        }
        cells.write.set(k, own, a.site);
    }
}

namespace {

/// Granules that single lanes access.
struct Singles {
    const RaceAccess& a;
    Cells& cells;
    /// Nothing orders lanes but the floor of the block, so that plain() says what is ordered.
    bool only_floor;

    /// Whether the usual case applied, and the access is recorded.
    template <bool writes>
    [[nodiscard]] bool record(u32 k, Stamp own) const {
        const Stamp first = cells.first.at(k);
        if (!plain(cells.write.at(k), own, a.past)) return false;
        if constexpr (writes) {
            if (!plain(first, own, a.past) || !plain(cells.last.at(k), own, a.past)) return false;
            cells.write.set(k, own, a.site);
            return true;
        }
        const bool free = plain(first, own, a.past);
        if (!free && (!only_floor || (first & stamp_async) != 0)) return false;
        (free ? cells.first : cells.last).set(k, own, a.site);
        return true;
    }
};

/// Records weak accesses by single lanes to global memory, with a closer look where one is needed.
void race_global_lanes(const RaceAccess& a, const u64* addresses) {
    const WarpOrder& warp = a.order.warps[a.c.warp->index];
    const bool only_floor = !a.order.is_fine && warp.warp_floor <= warp.floor;
    const u32 bytes = a.noted.bytes;
    u64 page = ~u64{0};
    Cells* cells = nullptr;
    each_lane(a.c.mask, [&](u32 i) {
        const u64 at = addresses[i];
        if (at / GlobalCells::page_bytes != page) {
            page = at / GlobalCells::page_bytes;
            cells = a.c.launch->accesses->cells.find(at, bytes < 4);
        }
        if (cells == nullptr) return;
        const Singles singles{a, *cells, only_floor};
        const Stamp own = a.own + i;
        const auto first = static_cast<u32>(at % GlobalCells::page_bytes) >> cells->shift;
        const u32 end = std::min(first + std::max(1u, bytes >> cells->shift), cells->count);
        bool fine = true;
        for (u32 k = first; k < end && fine; ++k)
            fine = a.writes() ? singles.record<true>(k, own) : singles.record<false>(k, own);
        if (!fine) check_lane(a, i, addresses);
    });
}

}  // namespace

void race_lanes(WarpContext& c, const Op* op, bool shared, const u64* addresses,
                const Noted& noted) {
    if (c.block->order->spent || (!shared && reads_unwritten(c, op))) return;
    const RaceAccess a = race_access(c, op, shared, noted);
    if (!shared && a.strength == 0) return race_global_lanes(a, addresses);
    if (shared && noted.bytes == 4 && c.block->order->shared.shift == 2)
        return race_shared_lanes(a, addresses);
    each_lane(c.mask, [&](u32 i) { check_lane(a, i, addresses); });
}

void find_unwritten(const Launch& launch) {
    const Kernel& kernel = *launch.kernel;
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
                       Past{1, 0, 0}};
    alignas(32) u64 addresses[lanes] = {};
    addresses[lane] = offset;
    check_lane(a, lane, addresses);
}

}  // namespace lode::emulator::exec
