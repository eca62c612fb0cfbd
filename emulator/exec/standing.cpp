// Where the warps of blocks stand, for the reports of deadlocks and time-outs.
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/exec/tensor_memory.hpp"
#include "emulator/isa/tensor_memory.hpp"
#include "emulator/isa/warp.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// For example ", for lane 3, which has exited".
std::string missing_lanes(const Warp& warp, const ConvergenceGroup& group) {
    WarpContext view;
    view.area[0] = group.frame->registers;
    view.area[1] = group.frame->code->constant_base;
    view.area[2] = warp.block->launch_base;
    view.area[3] = warp.specials;
    const u32* members = source<u32>(view, group.pc->r[members_operand]);
    u32 arrived = 0;
    for (u32 k = 0; k < warp.count; ++k) {
        const ConvergenceGroup& one = warp.groups[k];
        if (one.state == GroupState::at_sync && one.pc == group.pc) arrived |= one.mask;
    }
    u32 named = 0;
    each_lane(group.mask, [&](u32 i) { named |= members[i]; });
    return fmt::format("the lanes 0x{:08x} of its member mask 0x{:08x}", named & ~arrived, named);
}

/// For an allocation that finds no room, or waits for that of the other block of the pair.
std::string missing_columns(const Block& block, const ConvergenceGroup& group) {
    if (group.pc->operation != Operation::allocate_tensor_memory)
        return "waits for the other block of its pair to allocate tensor memory";
    WarpContext view;
    view.area[0] = group.frame->registers;
    view.area[1] = group.frame->code->constant_base;
    view.area[2] = block.launch_base;
    return fmt::format(
        "waits for {} columns of tensor memory, of whose {} columns {} are allocated",
        *source<u32>(view, group.pc->r[2]), TensorMemory::column_count,
        block.tensor_memory->allocated());
}

std::string waiting(const Block& block, const Warp& warp, const ConvergenceGroup& group) {
    switch (group.state) {
        case GroupState::at_sync:
            return "waits at a warp operation for lanes that never arrive: " +
                   missing_lanes(warp, group);
        case GroupState::at_barrier: {
            if (group.barrier == cluster_barrier) {
                return fmt::format("waits at the cluster's barrier with {} of {} threads",
                                   block.cluster->arrived, block.cluster->live_threads);
            }
            const Barrier& barrier = block.barriers[group.barrier];
            return fmt::format("waits at barrier {} with {} of {} threads", group.barrier,
                               barrier.arrived,
                               barrier.expected != 0 ? barrier.expected : block.live_threads);
        }
        case GroupState::at_allocation:
            return missing_columns(block, group);
        case GroupState::at_products:
            return "waits for products (wgmma) that other warps of its warpgroup haven't committed";
        case GroupState::runnable:
        case GroupState::yielded:
            break;
    }
    return "runs";
}

}  // namespace

void describe_standing(const Launch& launch, const Block& block, Standing& standing) {
    for (u32 w = 0; w < block.warp_count; ++w) {
        const Warp& warp = *block.warps[w];
        for (u32 k = 0; k < warp.count; ++k) {
            const ConvergenceGroup& one = warp.groups[k];
            if (standing.groups++ >= Standing::most) continue;
            const Op* op = one.pc;
            const auto& ops = one.frame->code->ops;
            if (one.state == GroupState::at_barrier) op = one.pc - 1;
            if (op < ops.data() || op >= ops.data() + ops.size()) op = ops.data();
            const auto lane = static_cast<u32>(std::countr_zero(one.mask));
            const std::string state = waiting(block, warp, one);
            if (standing.groups == 1) {
                standing.first = report_at(launch, warp, lane, op, one.frame);
                standing.state = state.substr(0, state.find(": "));
            }
            standing.text += fmt::format("\nwarp {} (lanes 0x{:08x}) {}, {}", w, one.mask, state,
                                         place_of(launch, warp, lane, op, one.frame));
        }
    }
}

std::string standing_facts(const Standing& standing) {
    if (standing.groups <= Standing::most) return standing.text;
    return standing.text + fmt::format("\nand {} more", standing.groups - Standing::most);
}

}  // namespace lode::emulator::exec
