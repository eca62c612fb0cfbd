// Warps and blocks: selects groups to run, splits and merges them, and releases barriers.
#include "emulator/exec/scheduler.hpp"

#include "emulator/decode/ops/warp.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/order.hpp"
#include "emulator/exec/sync.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

Frame* FramePool::take(const Code& code) {
    const std::size_t bytes = code.frame_bytes + 64;
    Frame* frame = nullptr;
    if (free.empty()) {
        all.push_back(std::make_unique<Frame>());
        frame = all.back().get();
    } else {
        frame = free.back();
        free.pop_back();
    }
    if (frame->capacity < bytes) {
        if (bytes > most - std::min(most, stored)) throw std::bad_alloc();
        stores.push_back(std::make_unique<u8[]>(bytes));
        stored += bytes;
        const auto at = reinterpret_cast<std::uintptr_t>(stores.back().get());
        frame->registers = reinterpret_cast<u8*>((at + 63) / 64 * 64);
        frame->capacity = bytes;
    }
    return frame;
}

void FramePool::give(Frame* frame) {
    free.push_back(frame);
}

void enter_frame(WarpContext& c, Frame* frame) noexcept {
    c.frame = frame;
    c.area[static_cast<u32>(Area::frame)] = frame->registers;
    c.area[static_cast<u32>(Area::constants)] = frame->code->constant_base;
}

void add_group(WarpContext& c, const Op* pc, u32 mask) {
    Warp& warp = *c.warp;
    warp.groups[warp.count++] = {pc, c.frame, mask, GroupState::runnable, 0};
    if (pc < c.stop) c.stop = pc;
}

const Op* diverge(WarpContext& c, u32 taken, const Op* target, const Op* next) {
    const u32 rest = c.mask & ~taken;
    if (target < next) {
        add_group(c, next, rest);
        c.mask = taken;
        return target;
    }
    add_group(c, target, taken);
    c.mask = rest;
    return next;
}

const Op* park(WarpContext& c, u8 barrier, const Op* resume) {
    c.reason = Leave::parked;
    c.barrier = barrier;
    c.resume = resume;
    return leave();
}

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

const Op* give_up_turn(WarpContext& c, const Op* resume) {
    c.reason = Leave::yielded;
    c.resume = resume;
    return leave();
}

const Op* requeue(WarpContext& c, const Op* resume) noexcept {
    c.reason = Leave::none;
    c.resume = resume;
    return leave();
}

const Op* raise(WarpContext& c, const Op* op, u32 lane, Fault fault, std::string text) {
    c.reason = Leave::fault;
    c.fault = {fault, op, lane, std::move(text)};
    return leave();
}

void retire_lanes(WarpContext& c) {
    Warp& warp = *c.warp;
    const auto count = static_cast<u32>(std::popcount(c.mask));
    warp.live &= ~c.mask;
    c.block->live_threads -= count;
    Cluster& cluster = *c.block->cluster;
    cluster.live_threads -= count;
    cluster.arrived -= static_cast<u32>(std::popcount(c.mask & warp.at_cluster_barrier));
    warp.at_cluster_barrier &= ~c.mask;
    for (Frame* frame = c.frame; frame->parent != nullptr;) {
        Frame* const parent = frame->parent;
        frame->mask &= ~c.mask;
        if (frame->mask == 0) c.worker->frames.give(frame);
        frame = parent;
    }
}

namespace {

bool complete(const Block& block, const Barrier& barrier) {
    if (barrier.arrived == 0) return false;
    return barrier.arrived >= (barrier.expected != 0 ? barrier.expected : block.live_threads);
}

/// Writes the result of bar.red for the lanes of a waiting group.
void give_result(const Barrier& barrier, const ConvergenceGroup& group) {
    const Op* const op = group.pc - 1;
    if (op->r[0] == no_slot) return;
    u8* const to = group.frame->registers + op->r[0];
    const u32 kind = op->flags & 7;
    if (kind == 2) {  // popc
        each_lane(group.mask, [&](u32 i) { reinterpret_cast<u32*>(to)[i] = barrier.votes; });
        return;
    }
    const bool value = kind == 3 ? barrier.votes == barrier.voters : barrier.votes != 0;
    u32& p = *reinterpret_cast<u32*>(to);
    p = merged(p, value ? all_lanes : 0, group.mask);
}

void release(WarpContext& c, Block& block, u32 id) {
    Barrier& barrier = block.barriers[id];
    if (c.race) order_barrier(c, block, id);
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

/// Exited threads no longer count, so barriers may now be complete. Of barriers with a count, the
/// warp may have no other lanes left than those that have arrived.
void recheck_barriers(WarpContext& c, Block& block, Warp& warp) {
    each_lane(block.barriers_used, [&](u32 id) {
        u32& parts = warp.arrived_parts[id];
        if (parts == 0 || (warp.live & ~parts) != 0) return;
        block.barriers[id].arrived += lanes - static_cast<u32>(std::popcount(parts));
        parts = 0;
    });
    each_lane(block.barriers_used, [&](u32 id) {
        if (complete(block, block.barriers[id])) release(c, block, id);
    });
}

/// Releases lanes at warp operations whose members have all arrived.
void resolve_sync(Warp& warp, bool race) {
    alignas(32) u32 met_members[lanes];
    u32 met = 0;
    for (u32 k = 0; k < warp.count; ++k) {
        ConvergenceGroup& a = warp.groups[k];
        if (a.state != GroupState::at_sync) continue;
        // Convergence groups at the same op form one group; those at bar.warp.sync meet at any
        // instance.
        const bool anywhere = a.pc->run == &warp_barrier;
        u32 meeting = a.mask;
        for (u32 m = 0; m < warp.count; ++m) {
            const ConvergenceGroup& b = warp.groups[m];
            if (m == k || b.state != GroupState::at_sync) continue;
            const bool same = b.pc == a.pc && b.frame == a.frame;
            if (same || (anywhere && b.pc->run == &warp_barrier)) meeting |= b.mask;
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
        if (a.state == GroupState::runnable && a.barrier == 1 && a.pc->run == &warp_barrier) {
            ++a.pc;
            a.barrier = 0;
        }
    }
}

bool before(const ConvergenceGroup& a, const ConvergenceGroup& b) {
    if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
    return a.pc < b.pc;
}

/// Removes the next group from the warp, merged with every other group at the same place; false if
/// there is none to run.
bool take_group(Worker& worker, Warp& warp, ConvergenceGroup& taken) {
    if (warp.count == 1 && !worker.shuffled) [[likely]] {
        taken = warp.groups[0];
        if (taken.state != GroupState::runnable) return false;
        warp.count = 0;
        return true;
    }
    if (warp.count == 0) return false;
    u32 best = lanes + 1;
    u32 seen = 0;
    for (u32 k = 0; k < warp.count; ++k) {
        if (warp.groups[k].state != GroupState::runnable) continue;
        ++seen;
        const bool better = worker.shuffled
                                ? worker.random() % seen == 0
                                : best > lanes || before(warp.groups[k], warp.groups[best]);
        if (better) best = k;
    }
    if (best > lanes) return false;
    taken = warp.groups[best];
    u32 kept = 0;
    u32 mask = 0;
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& one = warp.groups[k];
        const bool can_run = one.state == GroupState::runnable || one.state == GroupState::yielded;
        if (can_run && one.pc == taken.pc && one.frame == taken.frame) {
            mask |= one.mask;
        } else {
            warp.groups[kept++] = one;
        }
    }
    warp.count = kept;
    taken.mask = mask;
    return true;
}

const Op* nearest_above(const Warp& warp, const ConvergenceGroup& current) {
    const Op* stop = leave();
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& one = warp.groups[k];
        if (one.state != GroupState::runnable || one.frame != current.frame) continue;
        if (one.pc > current.pc && one.pc < stop) stop = one.pc;
    }
    return stop;
}

enum class WarpTurn : u8 { waiting, yielded, fault };

/// Decides what to do with a group that has left the run loop; false after a fault.
bool settle(WarpContext& c, Warp& warp, const Op* left_at) {
    ConvergenceGroup back{c.resume, c.frame, c.mask, GroupState::runnable, 0};
    if (left_at != leave()) {
        back.pc = left_at;
        warp.groups[warp.count++] = back;
        return true;
    }
    Block& block = *c.block;
    switch (c.reason) {
        case Leave::none:
            warp.groups[warp.count++] = back;
            return true;
        case Leave::yielded:
            back.state = GroupState::yielded;
            warp.groups[warp.count++] = back;
            return true;
        case Leave::exited:
            // Usually nothing waits for the warp.
            if (warp.count == 0 && block.barriers_used == 0 && block.cluster->arrived == 0 &&
                !c.worker->has_waited)
                return true;
            recheck_barriers(c, block, warp);
            recheck_cluster_barrier(c, *block.cluster);
            resolve_sync(warp, c.race);
            if (warp.live == 0) wake_warpgroup(block, warp.index);
            if (block.live_threads == 0) {
                for (u32 rank = 0; rank < block.cluster->count; ++rank)
                    wake_allocations(*block.cluster->blocks[rank]);
            }
            return true;
        case Leave::parked:
            if (c.barrier == sync_wait) {
                back.state = GroupState::at_sync;
                for (u32 k = 0; k < warp.count; ++k) {
                    ConvergenceGroup& other = warp.groups[k];
                    if (other.state == GroupState::at_sync && other.pc == back.pc &&
                        other.frame == back.frame) {
                        other.mask |= back.mask;
                        resolve_sync(warp, c.race);
                        return true;
                    }
                }
                warp.groups[warp.count++] = back;
                resolve_sync(warp, c.race);
            } else if (c.barrier == allocation_wait) {
                back.state = GroupState::at_allocation;
                c.worker->has_waited = true;
                warp.groups[warp.count++] = back;
            } else if (c.barrier == products_wait) {
                back.state = GroupState::at_products;
                c.worker->has_waited = true;
                warp.groups[warp.count++] = back;
            } else {
                back.state = GroupState::at_barrier;
                back.barrier = c.barrier;
                warp.groups[warp.count++] = back;
                if (c.barrier == cluster_barrier) return true;  // The arrivals are counted.
                if (complete(block, block.barriers[c.barrier])) release(c, block, c.barrier);
            }
            return true;
        case Leave::fault:
            warp.groups[warp.count++] = back;
            return false;
    }
    return true;
}

WarpTurn run_warp(WarpContext& c, Warp& warp) {
    Worker& worker = *c.worker;
    c.warp = &warp;
    c.area[static_cast<u32>(Area::warp)] = warp.specials;
    c.local = warp.local.data();
    c.local_bytes = warp.local_bytes;
    c.local_written = c.init ? warp.local_written.data() : nullptr;
    ConvergenceGroup current;
    constexpr u32 switches_per_turn = 4096;  // As in run_block(), for warp syncs.
    for (u32 turn = 0;; ++turn) {
        if (turn == switches_per_turn) return WarpTurn::yielded;
        if (!take_group(worker, warp, current)) {
            bool yielded = false;
            for (u32 k = 0; k < warp.count; ++k) {
                ConvergenceGroup& one = warp.groups[k];
                if (one.state != GroupState::yielded) continue;
                one.state = GroupState::runnable;
                yielded = true;
            }
            return yielded ? WarpTurn::yielded : WarpTurn::waiting;
        }
        c.mask = current.mask;
        if (c.frame != current.frame) enter_frame(c, current.frame);
        c.stop = nearest_above(warp, current);
        c.budget =
            worker.shuffled ? 1 + static_cast<i64>(worker.random() % 64) : worker.turn_budget;
        c.reason = Leave::none;
        c.resume = nullptr;
        const Op* op = current.pc;
        u64 count = 0;
        do {
            count += op->instructions;
            // Another worker may replace the handler by machine code.
            op = __atomic_load_n(&op->run, __ATOMIC_RELAXED)(c, op);
        } while (op < c.stop);
        count += std::exchange(c.compiled_instructions, 0);
        worker.instructions += count;
        if (c.sync && op == leave() && c.reason == Leave::exited) check_exit(c, count);
        if (!settle(c, warp, op)) return WarpTurn::fault;
    }
}

/// Fetches what running a warp begins with, while another one runs.
void prefetch(const Warp& warp) {
    __builtin_prefetch(warp.groups[0].frame);
    __builtin_prefetch(warp.specials);
}

bool can_run(const Warp& warp) {
    for (u32 k = 0; k < warp.count; ++k) {
        if (warp.groups[k].state <= GroupState::yielded) return true;
    }
    return false;
}

}  // namespace

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
    if (!complete(*c.block, barrier)) return false;
    release(c, *c.block, id);
    return true;
}

Turn run_block(WarpContext& c, Block& block) {
    Worker& worker = *c.worker;
    c.block = &block;
    c.frame = nullptr;
    // A loop around a barrier never gives up its turn by itself, but timeouts are checked between
    // turns.
    constexpr u32 rounds_per_turn = 256;
    for (u32 round = 0;; ++round) {
        if (round == rounds_per_turn) return Turn::yielded;
        bool ran = false;
        bool yielded = false;
        const u32 first =
            worker.shuffled ? static_cast<u32>(worker.random() % block.warp_count) : 0;
        for (u32 k = 0; k < block.warp_count; ++k) {
            const u32 index =
                first + k < block.warp_count ? first + k : first + k - block.warp_count;
            Warp& warp = *block.warps[index];
            if (index + 1 < block.warp_count) prefetch(*block.warps[index + 1]);
            if (!can_run(warp)) continue;
            ran = true;
            switch (run_warp(c, warp)) {
                case WarpTurn::fault:
                    return Turn::fault;
                case WarpTurn::yielded:
                    yielded = true;
                    break;
                case WarpTurn::waiting:
                    break;
            }
        }
        if (block.live_threads == 0) return Turn::done;
        if (yielded) return Turn::yielded;
        if (!ran) return Turn::stuck;
    }
}

}  // namespace lode::emulator::exec
