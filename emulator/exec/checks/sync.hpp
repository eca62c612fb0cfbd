// The check for wrong use of barriers, warp operations and mbarriers. Private to emulator/exec; its
// hooks are only called if WarpContext::sync is set.
#pragma once

#include "emulator/exec/warp_context.hpp"

#include <unordered_map>

namespace lode::emulator::exec {

/// The living mbarriers of a block, by their offset in shared memory.
struct BlockSync {
    std::unordered_map<u64, u32> mbarriers;  ///< The count of each.
};

enum class MbarrierUse : u8 { init, invalidate, query, arrive, wait };

/// A warp operation whose lanes have arrived.
void check_members(WarpContext& c, const Op* op, const u32* members);
/// Lane i takes its value from lane from[i]. `whole_result`: it may not be outside of the mask;
/// with up and down it may, because programs ignore what such lanes compute. What is wrong is
/// reported, or noted for the use of the register r[5].
void check_sources(WarpContext& c, const Op* op, const u32* from, const u32* members,
                   bool whole_result);
/// Lanes of WarpContext::mask arrive at a barrier: `threads` of `expected` (0: all of the block).
/// The lanes `earlier` have done so before, and gone on without waiting.
void check_barrier(WarpContext& c, const Op* op, u32 id, u32 threads, u32 expected, u32 earlier);
/// Lanes with different barriers in one instruction.
void check_barrier_ids(WarpContext& c, const Op* op);
/// All threads of a block have arrived at barrier 0, which is that of __syncthreads().
void check_meeting(WarpContext& c, const Block& block);
/// The lanes of a warp exit after `instructions` in a row.
void check_exit(WarpContext& c, u64 instructions);
void check_mbarrier(WarpContext& c, const Op* op, u32 lane, u64 offset, MbarrierUse use, u32 count,
                    u32 pending);

}  // namespace lode::emulator::exec
