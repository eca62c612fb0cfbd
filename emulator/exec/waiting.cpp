// Waiting: completes barriers and warp operations, and lets the groups go on that wait for them.
#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/checks/sync.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/control.hpp"
#include "emulator/isa/warp.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

void wake_groups(Block& block, Warp& warp, GroupState state) {
    for (u32 k = 0; k < warp.count; ++k) {
        ConvergenceGroup& group = warp.groups[k];
        if (group.state != state) continue;
        group.state = GroupState::runnable;
        block.stuck = false;
    }
}

}  // namespace

void wake_allocations(Block& block) {
    for (u32 w = 0; w < block.warp_count; ++w)
        wake_groups(block, *block.warps[w], GroupState::at_allocation);
}

void wake_warpgroup(Block& block, u32 warp) {
    const u32 first = warp / warpgroup_warps * warpgroup_warps;
    for (u32 w = first; w < std::min(first + warpgroup_warps, block.warp_count); ++w)
        wake_groups(block, *block.warps[w], GroupState::at_products);
}

bool is_complete(const Block& block, const Barrier& barrier) noexcept {
    if (barrier.arrived == 0) return false;
    return barrier.arrived >= (barrier.expected != 0 ? barrier.expected : block.live_threads);
}

namespace {

/// Writes the result of bar.red for the lanes of a waiting group.
void give_result(const Barrier& barrier, const ConvergenceGroup& group) {
    const Op* const op = group.pc - 1;
    if (op->r[0] == no_slot) return;
    u8* const to = group.frame->registers + op->r[0];
    const BarrierKind kind = op->flags.as<BarrierFlags>().kind;
    if (kind == BarrierKind::popc) {
        each_lane(group.mask, [&](u32 i) { reinterpret_cast<u32*>(to)[i] = barrier.votes; });
        return;
    }
    const bool value =
        kind == BarrierKind::all ? barrier.votes == barrier.voters : barrier.votes != 0;
    u32& p = *reinterpret_cast<u32*>(to);
    p = merged(p, value ? all_lanes : 0, group.mask);
}

}  // namespace

void release(WarpContext& c, Block& block, u32 id) {
    Barrier& barrier = block.barriers[id];
    if (c.race) order_barrier(c, block, id);
    if (c.sync && id == 0 && barrier.expected == 0) check_meeting(c, block);
    for (u32 w = 0; w < block.warp_count; ++w) {
        Warp& warp = *block.warps[w];
        warp.arrived_parts[id] = 0;
        for (u32 k = 0; k < warp.count; ++k) {
            ConvergenceGroup& group = warp.groups[k];
            if (group.state != GroupState::at_barrier || group.barrier != id) continue;
            if (barrier.voters != 0) give_result(barrier, group);
            group.state = GroupState::runnable;
        }
    }
    barrier = {};
    block.barriers_used &= ~(1u << id);
}

void recheck_barriers(WarpContext& c, Block& block, Warp& warp) {
    each_lane(block.barriers_used, [&](u32 id) {
        u32& parts = warp.arrived_parts[id];
        if (parts == 0 || (warp.live & ~parts) != 0) return;
        block.barriers[id].arrived += lanes - static_cast<u32>(std::popcount(parts));
        parts = 0;
    });
    each_lane(block.barriers_used, [&](u32 id) {
        if (is_complete(block, block.barriers[id])) release(c, block, id);
    });
}

void resolve_sync(Warp& warp, bool race) {
    alignas(32) u32 met_members[lanes];
    u32 met = 0;
    for (u32 k = 0; k < warp.count; ++k) {
        ConvergenceGroup& a = warp.groups[k];
        if (a.state != GroupState::at_sync) continue;
        // Convergence groups at the same op form one group; those at bar.warp.sync meet at any
        // instance.
        const bool anywhere = a.pc->operation == Operation::warp_barrier;
        u32 meeting = a.mask;
        for (u32 m = 0; m < warp.count; ++m) {
            const ConvergenceGroup& b = warp.groups[m];
            if (m == k || b.state != GroupState::at_sync) continue;
            const bool same = b.pc == a.pc && b.frame == a.frame;
            if (same || (anywhere && b.pc->operation == Operation::warp_barrier)) meeting |= b.mask;
        }
        // The register with the member mask is read from the group's own frame.
        WarpContext view;
        view.area[0] = a.frame->registers;
        view.area[1] = a.frame->code->constant_base;
        view.area[2] = warp.block->launch_base;
        view.area[3] = warp.specials;
        const u32* members = source<u32>(view, a.pc->r[members_operand]);
        u32 ready = 0;
        each_lane(a.mask, [&](u32 i) {
            if ((members[i] & warp.live & ~meeting) == 0) ready |= 1u << i;
        });
        if (ready == 0) continue;
        if (ready != a.mask) {
            ConvergenceGroup rest = a;
            rest.mask &= ~ready;
            a.mask = ready;
            warp.groups[warp.count++] = rest;
        }
        a.state = GroupState::runnable;
        if (anywhere && race) {
            met |= ready;
            each_lane(ready, [&](u32 i) { met_members[i] = members[i]; });
        }
        if (anywhere) a.barrier = 1;  // Marks the group to pass the barrier without another check.
    }
    if (met != 0) order_warp(warp, met, met_members);
    for (u32 k = 0; k < warp.count; ++k) {
        ConvergenceGroup& a = warp.groups[k];
        if (a.state == GroupState::runnable && a.barrier == 1 &&
            a.pc->operation == Operation::warp_barrier) {
            ++a.pc;
            a.barrier = 0;
        }
    }
}

void recheck_cluster_barrier(WarpContext& c, Cluster& cluster) {
    if (cluster.arrived == 0 || cluster.arrived < cluster.live_threads) return;
    cluster.arrived = 0;
    for (u32 rank = 0; rank < cluster.count; ++rank) {
        Block& block = *cluster.blocks[rank];
        for (u32 w = 0; w < block.warp_count; ++w) {
            Warp& warp = *block.warps[w];
            warp.at_cluster_barrier = 0;
            for (u32 k = 0; k < warp.count; ++k) {
                ConvergenceGroup& group = warp.groups[k];
                const bool waits =
                    group.state == GroupState::at_barrier && group.barrier == cluster_barrier;
                if (waits) group.state = GroupState::runnable;
            }
        }
        block.stuck = false;
    }
    if (c.race) order_cluster(cluster);
}

bool arrive_at_barrier(WarpContext& c, u32 id, u32 threads, u32 expected) {
    Barrier& barrier = c.block->barriers[id];
    barrier.arrived += threads;
    if (expected != 0) barrier.expected = expected;
    if (!is_complete(*c.block, barrier)) return false;
    release(c, *c.block, id);
    return true;
}

}  // namespace lode::emulator::exec
