// The race check of asynchronous copies: accesses of a second thread until they are waited for.
#include "emulator/exec/checks/race/access.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec {

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
        Cells& cells = *place.cells;
        for (u32 k = place.index; k < place.index + (4u >> cells.shift); ++k) {
            for (Track* const track : {&cells.write, &cells.first, &cells.last}) {
                if (((track->at(k) ^ pending) & stamp_thread_bits) == 0)
                    track->set(k, now, track->site_at(k));
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
        check_lane(a, lane, addresses);
    }
    if (end == CopyEnd::mbarrier) return;
    const bool bulk = end == CopyEnd::bulk_group;
    warp.copies.push_back({address, bytes, static_cast<u16>(c.warp->index * lanes + lane), shared,
                           reads, bulk, warp.groups[bulk ? 1 : 0][lane]});
}

void order_proxy_read(WarpContext& c, const Op* op, u32 lane, u32 offset, u32 bytes) {
    BlockOrder& order = *c.block->order;
    if (order.spent || u64{offset} + bytes > c.shared_bytes) return;
    const u32 shift = order.shared.shift;
    for (u32 k = offset >> shift; k < (offset + bytes + (1u << shift) - 1) >> shift; ++k) {
        const Stamp write = order.shared.write.at(k);
        // Asynchronous copies need no fence; their time says nothing of what other blocks write.
        if ((write & stamp_async) != 0 || stamp_block(write) != 0) continue;
        if (stamp_time(write) <= order.proxy_fence) continue;
        if (!is_new_finding(c, op, Finding::proxy_fence)) return;
        const EarlierPlace place = earlier_place(*c.launch, order.shared.write.site_at(k), true);
        report_finding(
            c, op, lane, Finding::proxy_fence,
            fmt::format("lacks a fence.proxy.async after the write{}\nproxy: an asynchronous "
                        "operation reads what thread {} of the block has written{}\naddress: {}",
                        place.brief, stamp_thread(write), place.text,
                        shared_place(*c.launch, k << shift)),
            {place.stack});
        return;
    }
}

void order_commit(WarpContext& c, bool bulk) {
    WarpOrder& warp = c.block->order->warps[c.warp->index];
    c.block->order->has_groups = true;
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
