// Warps and blocks: selects groups to run, splits and merges them.
#include "emulator/exec/scheduler.hpp"

#include "emulator/exec/checks/sync.hpp"
#include "emulator/exec/debug_hook.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/isa/load_store.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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
    c.warp->add(pc, c.frame, mask);
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

namespace {

void enter_warp(WarpContext& c, Warp& warp) noexcept {
    c.warp = &warp;
    c.area[static_cast<u32>(Area::warp)] = warp.specials;
    c.local = warp.local.data();
    c.local_bytes = warp.local_bytes;
    c.local_written = c.init ? warp.local_written.data() : nullptr;
}

void enter_group(WarpContext& c, const ConvergenceGroup& group) noexcept {
    c.mask = group.mask;
    if (c.frame != group.frame) enter_frame(c, group.frame);
}

/// Fetches what running a warp begins with, while another one runs.
void prefetch(const Block& block, u32 index) {
    if (index >= block.warp_count) return;
    const Warp& warp = *block.warps[index];
    __builtin_prefetch(warp.groups[0].frame);
    __builtin_prefetch(warp.specials);
}

/// Whether nobody waits for a warp that has exited, as usual.
bool nobody_waits(const WarpContext& c) noexcept {
    return c.warp->count == 0 && c.block->barriers_used == 0 && c.block->cluster->arrived == 0 &&
           !c.worker->has_waited;
}

/// Goes on with the next warp that has one group, if it can run, without leaving the run loop. The
/// current one has been settled. After a barrier the first warp comes first, so that the warps'
/// accesses to memory follow each other.
const Op* next_warp(WarpContext& c) {
    const Block& block = *c.block;
    c.reason = Leave::settled;
    if (block.live_threads == 0) return leave();
    u32 index = c.warp->index;
    for (u32 k = 0; k < block.warp_count; ++k) {
        index = index + 1 < block.warp_count ? index + 1 : 0;
        Warp& warp = *block.warps[index];
        if (warp.count == 0) continue;
        const ConvergenceGroup& group = warp.groups[0];
        if (warp.count > 1 || group.state == GroupState::yielded) return leave();
        if (group.state != GroupState::runnable) continue;
        --c.switches;
        warp.count = 0;
        enter_warp(c, warp);
        enter_group(c, group);
        c.stop = leave();
        c.budget = c.worker->turn_budget;
        c.reason = Leave::none;
        prefetch(block, index + 1);
        return group.pc;
    }
    return leave();
}

}  // namespace

const Op* park(WarpContext& c, u8 barrier, const Op* resume) {
    c.reason = Leave::parked;
    c.barrier = barrier;
    c.resume = resume;
    return leave();
}

const Op* wait_at_barrier(WarpContext& c, u32 id, const Op* resume) {
    Block& block = *c.block;
    const bool is_alone = c.warp->count == 0;
    c.warp->add(resume, c.frame, c.mask, GroupState::at_barrier, static_cast<u8>(id));
    if (is_complete(block, block.barriers[id])) release(c, block, id);
    if (is_alone && c.switches != 0) return next_warp(c);
    c.reason = Leave::settled;
    return leave();
}

const Op* end_group(WarpContext& c) {
    retire_lanes(c);
    c.reason = Leave::exited;
    return c.switches != 0 && nobody_waits(c) ? next_warp(c) : leave();
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

bool before(const ConvergenceGroup& a, const ConvergenceGroup& b) {
    if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
    return a.pc < b.pc;
}

/// Removes the next group from the warp, merged with every other group at the same place; null if
/// there is none to run. It is valid until a group is added.
const ConvergenceGroup* take_group(Worker& worker, Warp& warp) {
    if (warp.count == 1 && !worker.shuffled) [[likely]] {
        if (warp.groups[0].state != GroupState::runnable) return nullptr;
        warp.count = 0;
        return &warp.groups[0];
    }
    if (warp.count == 0) return nullptr;
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
    if (best > lanes) return nullptr;
    ConvergenceGroup taken = warp.groups[best];
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
    warp.groups[kept] = taken;
    return &warp.groups[kept];
}

const Op* nearest_above(const Warp& warp, const Frame* frame, const Op* pc) {
    const Op* stop = leave();
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& one = warp.groups[k];
        if (one.state != GroupState::runnable || one.frame != frame) continue;
        if (one.pc > pc && one.pc < stop) stop = one.pc;
    }
    return stop;
}

/// Whether lanes of the access can still be carried out after another lane's fault: the op has
/// loaded nothing into its own addresses.
bool keeps_addresses(const Op* op, const MemoryAccess& access) {
    return access.stores || access.space != MemorySpace::generic ||
           std::find(op->r, op->r + access.parts, op->r[access.parts]) == op->r + access.parts;
}

/// After the fault of a load or store, reports its bad lanes and carries it out for the others; a
/// load gives the bad ones 0. Returns the next op, or leave() if the fault stands.
const Op* skip_bad_lanes(WarpContext& c) {
    const Op* const op = c.fault.op;
    const auto is_bad_access = [&] {
        return c.reason == Leave::fault && c.fault.op == op &&
               (c.fault.fault == Fault::illegal_address ||
                c.fault.fault == Fault::misaligned_address);
    };
    if (!c.launch->options->skips_bad_accesses || !is_bad_access() ||
        op->operation < Operation::first_access)
        return leave();
    const MemoryAccess access = access_of(op->operation);
    if (!keeps_addresses(op, access)) return leave();
    const u32 all = c.mask;
    u32 bad = 0;
    const Op* next = leave();
    while (next == leave() && is_bad_access()) {
        if (is_new_finding(c, op, Finding::bad_access))
            report_finding(c, op, c.fault.lane, Finding::bad_access, c.fault.text);
        bad |= u32{1} << c.fault.lane;
        c.mask = all & ~bad;
        c.reason = Leave::none;
        next = c.mask == 0 ? op + 1 : __atomic_load_n(&op->run, __ATOMIC_RELAXED)(c, op);
    }
    c.mask = all;
    for (u32 k = 0; k < access.parts && next != leave() && !access.stores; ++k) {
        each_lane(bad, [&](u32 lane) {
            std::memset(destination<u8>(c, op->r[k]) + std::size_t{lane} * access.bytes, 0,
                        access.bytes);
        });
    }
    return next;
}

enum class WarpTurn : u8 { waiting, yielded, fault };

/// Decides what to do with a group that has left the run loop; false after a fault.
bool settle(WarpContext& c, Warp& warp, const Op* left_at) {
    if (left_at != leave()) {
        warp.add(left_at, c.frame, c.mask);
        return true;
    }
    const auto keep = [&](GroupState state, u8 barrier = 0) {
        warp.add(c.resume, c.frame, c.mask, state, barrier);
    };
    Block& block = *c.block;
    switch (c.reason) {
        case Leave::settled:
            return true;
        case Leave::none:
            keep(GroupState::runnable);
            return true;
        case Leave::yielded:
            keep(GroupState::yielded);
            return true;
        case Leave::exited:
            if (nobody_waits(c)) return true;
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
                for (u32 k = 0; k < warp.count; ++k) {
                    ConvergenceGroup& other = warp.groups[k];
                    if (other.state == GroupState::at_sync && other.pc == c.resume &&
                        other.frame == c.frame) {
                        other.mask |= c.mask;
                        resolve_sync(warp, c.race);
                        return true;
                    }
                }
                keep(GroupState::at_sync);
                resolve_sync(warp, c.race);
            } else if (c.barrier == allocation_wait) {
                keep(GroupState::at_allocation);
                c.worker->has_waited = true;
            } else if (c.barrier == products_wait) {
                keep(GroupState::at_products);
                c.worker->has_waited = true;
            } else {  // The arrivals at a cluster's barrier are counted.
                keep(GroupState::at_barrier, cluster_barrier);
            }
            return true;
        case Leave::fault:
            keep(GroupState::runnable);
            return false;
    }
    return true;
}

/// Runs a warp until it waits, and then perhaps others: WarpContext::warp is the last one.
WarpTurn run_warp(WarpContext& c, Warp& first) {
    Worker& worker = *c.worker;
    enter_warp(c, first);
    constexpr u32 switches_per_turn = 4096;  // As in run_block(), for warp syncs.
    for (u32 turn = 0;; ++turn) {
        if (turn == switches_per_turn) return WarpTurn::yielded;
        Warp& warp = *c.warp;
        const ConvergenceGroup* const group = take_group(worker, warp);
        if (group == nullptr) {
            bool yielded = false;
            for (u32 k = 0; k < warp.count; ++k) {
                ConvergenceGroup& one = warp.groups[k];
                if (one.state != GroupState::yielded) continue;
                one.state = GroupState::runnable;
                yielded = true;
            }
            return yielded ? WarpTurn::yielded : WarpTurn::waiting;
        }
        const Op* op = group->pc;
        enter_group(c, *group);
        c.stop = nearest_above(warp, c.frame, op);
        c.budget =
            worker.shuffled ? 1 + static_cast<i64>(worker.random() % 64) : worker.turn_budget;
        c.reason = Leave::none;
        c.resume = nullptr;
        u64 count = 0;
        const auto run_ops = [&](const auto& before) {
            do {
                before();
                count += op->instructions;
                // Another worker may replace the handler by machine code.
                op = __atomic_load_n(&op->run, __ATOMIC_RELAXED)(c, op);
                if (op == leave() && c.reason == Leave::fault) [[unlikely]]
                    op = skip_bad_lanes(c);
            } while (op < c.stop);
        };
        if (DebugHook* const debug = c.launch->options->debug; debug != nullptr) [[unlikely]] {
            run_ops([&] { debug->before(c, op); });
        } else {
            run_ops([] {});
        }
        count += std::exchange(c.compiled_instructions, 0);
        worker.instructions += count;
        if (c.sync && op == leave() && c.reason == Leave::exited) check_exit(c, count);
        if (!settle(c, *c.warp, op)) return WarpTurn::fault;
    }
}

bool can_run(const Warp& warp) {
    for (u32 k = 0; k < warp.count; ++k) {
        if (warp.groups[k].state <= GroupState::yielded) return true;
    }
    return false;
}

}  // namespace

Turn run_block(WarpContext& c, Block& block) {
    Worker& worker = *c.worker;
    c.block = &block;
    c.frame = nullptr;
    // A loop around a barrier never gives up its turn by itself, but timeouts are checked between
    // turns.
    constexpr u32 rounds_per_turn = 256;
    c.switches = worker.shuffled || c.sync ? 0 : rounds_per_turn * block.warp_count;
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
            prefetch(block, index + 1);
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
            if (!worker.shuffled) k = c.warp->index;
        }
        if (block.live_threads == 0) return Turn::done;
        if (yielded) return Turn::yielded;
        if (!ran) return Turn::stuck;
    }
}

}  // namespace lode::emulator::exec
