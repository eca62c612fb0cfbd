// The race check: compares each access with the earlier ones to the same bytes, in the memory of
// the block and in global memory.
#include "emulator/decode/ops/order.hpp"
#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/race_access.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>

/// Workers read and write the cells of global memory without synchronisation: a lost stamp misses a
/// race at most.
#define LODE_RACES_BY_DESIGN __attribute__((no_sanitize("thread")))

namespace lode::emulator::exec {

namespace {

/// The usual number is one granule for each lane.
LODE_RACES_BY_DESIGN void set_sites(Site* to, Site site, u64 count) {
    if (count == lanes) {
        for (u32 k = 0; k < lanes; ++k)
            to[k] = site;
        return;
    }
    for (u64 k = 0; k < count; ++k)
        to[k] = site;
}

u64 strength_of(const Op* op, Access access) {
    if ((op->flags2 & (order_data | order_validated)) != 0 && access == Access::read)
        return (op->flags2 & order_data) != 0 ? 0 : stamp_gpu;
    const u16 flags = op->flags2 & order_strong;
    if ((flags & order_gpu) != 0) return stamp_gpu;
    if (flags != 0) return stamp_cta;
    return access == Access::atomic || access == Access::exchange ? stamp_gpu : 0;
}

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

/// Whether an access needs no closer look: there was none, or it is the thread's own, or ordered
/// for every lane.
template <bool shared = false>
[[gnu::always_inline]] inline bool plain(Stamp s, Stamp own, const Past& past) {
    const auto when = static_cast<i64>(s);
    const bool mine = ((s ^ own) & stamp_thread_bits) == 0;
    if constexpr (shared) return (when < past.end) | mine;
    return (when < past.oldest) | ((when >= past.lo) & (when < past.end)) | mine;
}

/// The cells of an access that lies in one page.
struct Place {
    Cells* cells = nullptr;
    u32 index = 0;
};

Place place_of_cells(const RaceAccess& a, u64 address, u32 bytes) {
    if (!a.shared) {
        Cells* const cells = a.c.launch->accesses->cells.find(address, bytes < 4);
        if (cells == nullptr) return {};
        return {cells, static_cast<u32>(address % GlobalCells::page_bytes) >> cells->shift};
    }
    Cells& cells = a.home.shared;
    if (bytes < 4 && cells.shift != 0) {
        Cells fine;
        fine.reset(cells.count << cells.shift, 0);
        fine.refine(cells);
        cells = std::move(fine);
    }
    return {&cells, static_cast<u32>(address) >> cells.shift};
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

/// Whether a volatile load for data reads what a strong load has seen since it was written: by the
/// same thread or, of global memory, by its block. One location never goes back to an older value.
bool has_seen(const RaceAccess& a, Stamp own, Stamp read) {
    if ((a.op->flags2 & order_data) == 0 || read == 0 || (read & stamp_async) != 0) return false;
    return a.shared ? ((read ^ own) & stamp_thread_bits) == 0 : block_of(a, read) == a.order.block;
}

/// Looks closely at one lane's access and records it.
LODE_RACES_BY_DESIGN void check_lane(const RaceAccess& a, u32 lane, const u64* addresses,
                                     bool record_reads) {
    const u64 address = addresses[lane];
    if (a.shared && address + a.noted.bytes > a.c.shared_bytes) return;
    const Place place = place_of_cells(a, address, a.noted.bytes);
    if (place.cells == nullptr) return;
    Cells& cells = *place.cells;
    const Stamp own = a.own + lane;
    const u32 granules = std::max(1u, a.noted.bytes >> cells.shift);
    const auto conflicts = [&](Stamp before) {
        return !plain(before, own, a.past) && !is_compatible(a, before) &&
               !is_ordered(a, lane, before);
    };
    for (u32 k = place.index; k < place.index + granules && k < cells.count; ++k) {
        Stamp& write = cells.write[k];
        Stamp& first = cells.first[k];
        Stamp& last = cells.last[k];
        const bool on_write = conflicts(write);
        if (!a.writes()) {
            if (on_write && !has_seen(a, own, first) && !has_seen(a, own, last))
                tell_race(a, lane, address, {write, cells.write_site[k], true}, false);
            if (!record_reads) continue;
            const bool free = plain(first, own, a.past) || is_ordered(a, lane, first);
            (free ? first : last) = own;
            (free ? cells.first_site : cells.last_site)[k] = a.site;
            continue;
        }
        const bool on_first = !on_write && conflicts(first);
        if (on_write || on_first || conflicts(last)) {
            const Earlier before = on_write   ? Earlier{write, cells.write_site[k], true}
                                   : on_first ? Earlier{first, cells.first_site[k], false}
                                              : Earlier{last, cells.last_site[k], false};
            const bool benign = is_equal_value(a, lane, addresses, before.stamp);
            tell_race(a, lane, address, before, benign);
            if (benign) continue;
        }
        // A strong write doesn't order a weak one before other strong ones.
        const bool covers = a.strength != 0 && stamp_is_weak(write) && write != 0;
        if (covers && (write & stamp_async) == 0) {
            first = write | stamp_covered;
            cells.first_site[k] = cells.write_site[k];
        } else if (a.strength == 0 || !stamp_is_covered(first)) {
            first = 0;
        }
        write = own;
        cells.write_site[k] = a.site;
        last = 0;
    }
}

/// Consecutive lanes that access consecutive elements, or all the same one.
struct Run {
    u64 address = 0;
    u32 lane = 0;
    u32 count = lanes;
    bool uniform = false;
    bool twin = false;  ///< The other half of the warp reads the same bytes.
};

/// Records a run of reads; false if an earlier write needs a closer look. `single`: a granule for
/// each lane.
template <bool shared, bool single>
LODE_RACES_BY_DESIGN bool record_reads(const RaceAccess& a, const Place& place, u64 granules,
                                       u32 per_lane_shift, Stamp own) {
    const Stamp* const write = place.cells->write + place.index;
    Stamp* const first = place.cells->first + place.index;
    Stamp* const last = place.cells->last + place.index;
    Site* const first_site = place.cells->first_site + place.index;
    Site* const last_site = place.cells->last_site + place.index;
    const Past past = a.past;
    u64 bad = 0;
    u64 taken = 0;
    for (u64 k = 0; k < granules; ++k) {
        const Stamp mine = own + (single ? k : k >> per_lane_shift);
        bad |= u64{!plain<shared>(write[k], mine, past)};
        taken |= u64{!plain<shared>(first[k], mine, past)};
    }
    if (taken == 0) {
        for (u64 k = 0; k < granules; ++k)
            first[k] = own + (single ? k : k >> per_lane_shift);
        set_sites(first_site, a.site, granules);
        return bad == 0;
    }
    LODE_INDEPENDENT_LANES
    for (u64 k = 0; k < granules; ++k) {
        const Stamp mine = own + (single ? k : k >> per_lane_shift);
        const Stamp before = first[k];
        const bool free = plain<shared>(before, mine, past);
        first[k] = free ? mine : before;
        last[k] = free ? last[k] : mine;
        first_site[k] = free ? a.site : first_site[k];
        last_site[k] = free ? last_site[k] : a.site;
    }
    return bad == 0;
}

/// Records a run of writes if none needs a closer look.
template <bool shared, bool single>
LODE_RACES_BY_DESIGN bool record_writes(const RaceAccess& a, const Place& place, u64 granules,
                                        u32 per_lane_shift, Stamp own) {
    Stamp* const write = place.cells->write + place.index;
    const Stamp* const first = place.cells->first + place.index;
    const Stamp* const last = place.cells->last + place.index;
    const Past past = a.past;
    u64 bad = 0;
    for (u64 k = 0; k < granules; ++k) {
        const Stamp mine = own + (single ? k : k >> per_lane_shift);
        bad |= u64{!plain<shared>(write[k], mine, past)} |
               u64{!plain<shared>(first[k], mine, past)} | u64{!plain<shared>(last[k], mine, past)};
    }
    if (bad != 0) return false;
    // The reads may stay: what is ordered behind this write is ordered behind them.
    for (u64 k = 0; k < granules; ++k)
        write[k] = own + (single ? k : k >> per_lane_shift);
    set_sites(place.cells->write_site + place.index, a.site, granules);
    return true;
}

/// Records reads of one element by several lanes.
LODE_RACES_BY_DESIGN bool record_uniform(const RaceAccess& a, const Place& place, u32 granules,
                                         const Run& run) {
    const Stamp from = a.own + run.lane;
    const Stamp to = from + run.count - 1;
    constexpr Stamp nobody = ~Stamp{0};
    bool fine = true;
    for (u32 k = place.index; k < place.index + granules; ++k) {
        const Stamp write = place.cells->write[k];
        fine &= plain(write, nobody, a.past);
        if (plain(place.cells->first[k], nobody, a.past)) {
            place.cells->first[k] = from;
            place.cells->first_site[k] = a.site;
        }
        place.cells->last[k] = to;
        place.cells->last_site[k] = a.site;
    }
    return fine;
}

template <auto shared_single, auto shared_several, auto global_single, auto global_several>
bool record_run(const RaceAccess& a, const Place& place, u64 granules, u32 per_lane, Stamp own) {
    if (a.shared) {
        return per_lane == 0 ? shared_single(a, place, granules, per_lane, own)
                             : shared_several(a, place, granules, per_lane, own);
    }
    return per_lane == 0 ? global_single(a, place, granules, per_lane, own)
                         : global_several(a, place, granules, per_lane, own);
}

/// Records the same reads by a second half of a warp.
LODE_RACES_BY_DESIGN void record_twin(const Place& place, u64 granules, u32 per_lane, Stamp own,
                                      Site site) {
    set_sites(place.cells->last_site + place.index, site, granules);
    Stamp* const last = place.cells->last + place.index;
    for (u64 k = 0; k < granules; ++k)
        last[k] = own + (k >> per_lane);
}

void check_run(const RaceAccess& a, const Run& run) {
    const u32 bytes = a.noted.bytes;
    const u64 total = run.uniform ? bytes : u64{bytes} * run.count;
    const u64 room =
        a.shared ? total : GlobalCells::page_bytes - run.address % GlobalCells::page_bytes;
    bool fine = total <= room;
    if (a.shared && run.address + total > a.c.shared_bytes) return;
    if (fine) {
        const Place place = place_of_cells(a, run.address, bytes);
        if (place.cells == nullptr) return;
        const u32 shift = place.cells->shift;
        const auto granules = static_cast<u32>(total >> shift);
        const auto per_lane = static_cast<u32>(std::countr_zero(bytes >> shift));
        if (run.uniform) {
            fine = record_uniform(a, place, granules, run);
        } else if (a.writes()) {
            fine = record_run<&record_writes<true, true>, &record_writes<true, false>,
                              &record_writes<false, true>, &record_writes<false, false>>(
                a, place, granules, per_lane, a.own + run.lane);
        } else {
            fine = record_run<&record_reads<true, true>, &record_reads<true, false>,
                              &record_reads<false, true>, &record_reads<false, false>>(
                a, place, granules, per_lane, a.own + run.lane);
            if (run.twin)
                record_twin(place, granules, per_lane, a.own + run.lane + lanes / 2, a.site);
        }
        if (fine) return;
    }
    alignas(32) u64 addresses[lanes] = {};
    for (u32 i = 0; i < run.count; ++i)
        addresses[run.lane + i] = run.address + (run.uniform ? 0 : u64{i} * bytes);
    for (u32 i = 0; i < run.count; ++i)
        check_lane(a, run.lane + i, addresses, total > room);
    if (!run.twin) return;
    std::copy_n(addresses, lanes / 2, addresses + lanes / 2);
    for (u32 i = lanes / 2; i < lanes; ++i)
        check_lane(a, i, addresses, true);
}

}  // namespace

void race_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted) {
    if (c.block->order->spent) return;
    const RaceAccess a = race_access(c, op, shared, noted);
    const bool uniform = pattern == Pattern::uniform || pattern == Pattern::half_uniform;
    if (pattern == Pattern::run || pattern == Pattern::uniform) {
        check_run(a, {first, 0, lanes, uniform, false});
        return;
    }
    const bool twin = first == second && !uniform && !a.writes();
    check_run(a, {first, 0, lanes / 2, uniform, twin});
    if (!twin) check_run(a, {second, lanes / 2, lanes / 2, uniform, false});
}

LODE_RACES_BY_DESIGN void race_lanes(WarpContext& c, const Op* op, bool shared,
                                     const u64* addresses, const Noted& noted) {
    if (c.block->order->spent) return;
    const RaceAccess a = race_access(c, op, shared, noted);
    const u32 step = noted.bytes;
    const bool single = step == 4 && (!shared || c.block->order->shared.shift == 2);
    if (!single || a.strength != 0) {
        each_lane(c.mask, [&](u32 i) { check_lane(a, i, addresses, true); });
        return;
    }
    u64 page = ~u64{0};
    Cells* cells = shared ? &c.block->order->shared : nullptr;
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        u64 at = addresses[i];
        if (shared) {
            if (at + step > c.shared_bytes) continue;
        } else {
            if (at / GlobalCells::page_bytes != page) {
                page = at / GlobalCells::page_bytes;
                cells = c.launch->accesses->cells.find(at, false);
            }
            if (cells == nullptr) continue;
            at %= GlobalCells::page_bytes;
        }
        const u64 k = at >> cells->shift;
        const Stamp own = a.own + i;
        const bool fine = cells->shift == 2 && plain(cells->write[k], own, a.past) &&
                          plain(cells->first[k], own, a.past) &&
                          (!a.writes() || plain(cells->last[k], own, a.past));
        if (!fine) {
            check_lane(a, i, addresses, true);
        } else {
            (a.writes() ? cells->write : cells->first)[k] = own;
            (a.writes() ? cells->write_site : cells->first_site)[k] = a.site;
        }
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
    check_lane(a, lane, addresses, true);
}

// Asynchronous copies -----------------------------------------------------------------------------

namespace {

/// Replaces the stamps that a copy has left, as if its thread had accessed the bytes now.
LODE_RACES_BY_DESIGN void settle_copy(WarpContext& c, const PendingCopy& copy) {
    BlockOrder& order = *c.block->order;
    const Noted noted{copy.reads ? Access::read : Access::write, 4, nullptr};
    const u64 block = copy.shared ? 0 : order.block;
    const Stamp pending = stamp_of(block, 0, 0, copy.thread) | stamp_async;
    const Stamp now = stamp_of(block, order.time, 0, copy.thread);
    const RaceAccess a{c, nullptr, noted, order, order, c.shared, copy.shared, 0, 0, now, {}};
    for (u32 at = 0; at < copy.bytes; at += 4) {
        const Place place = place_of_cells(a, copy.address + at, 4);
        if (place.cells == nullptr) return;
        Stamp* const rows[] = {place.cells->write, place.cells->first, place.cells->last};
        for (u32 k = place.index; k < place.index + (4u >> place.cells->shift); ++k) {
            for (Stamp* const row : rows) {
                if (((row[k] ^ pending) & stamp_thread_bits) == 0) row[k] = now;
            }
        }
    }
}

}  // namespace

void order_copy(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, bool shared,
                bool reads, CopyEnd end) {
    BlockOrder& order = *c.block->order;
    if (order.spent || bytes == 0) return;
    WarpOrder& warp = order.warps[c.warp->index];
    const Noted noted{reads ? Access::read : Access::write, 4, nullptr};
    RaceAccess a = race_access(c, op, shared, noted);
    a.own |= stamp_async;
    alignas(32) u64 addresses[lanes] = {};
    for (u32 at = 0; at < bytes; at += 4) {
        addresses[lane] = address + at;
        check_lane(a, lane, addresses, true);
    }
    if (end == CopyEnd::mbarrier) return;
    const bool bulk = end == CopyEnd::bulk_group;
    warp.copies.push_back({address, bytes, static_cast<u16>(c.warp->index * lanes + lane), shared,
                           reads, bulk, warp.groups[bulk ? 1 : 0][lane]});
}

void order_commit(WarpContext& c, bool bulk) {
    WarpOrder& warp = c.block->order->warps[c.warp->index];
    each_lane(c.mask, [&](u32 i) { ++warp.groups[bulk ? 1 : 0][i]; });
}

void order_wait(WarpContext& c, u32 left, bool bulk, bool reads_only) {
    WarpOrder& warp = c.block->order->warps[c.warp->index];
    std::erase_if(warp.copies, [&](const PendingCopy& copy) {
        const u32 lane = copy.thread % lanes;
        if (((c.mask >> lane) & 1) == 0 || copy.bulk != bulk) return false;
        if (reads_only && !copy.reads) return false;
        const u32 committed = warp.groups[bulk ? 1 : 0][lane];
        if (left != all_copies && copy.group + left >= committed) return false;
        settle_copy(c, copy);
        return true;
    });
}

}  // namespace lode::emulator::exec

#undef LODE_RACES_BY_DESIGN
