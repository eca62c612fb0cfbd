// Ops for the blocks of a cluster.
#pragma once

#include "emulator/decode/op.hpp"

namespace lode::emulator::exec {

/// An address in another block's shared memory has the block's rank plus one above these bits. The
/// addresses of a block's own shared memory have zeros there.
inline constexpr u32 rank_shift = 24;
inline constexpr u32 rank_mask = 0xff;
inline constexpr u32 own_offset_mask = (u32{1} << rank_shift) - 1;

/// barrier.cluster.arrive and .wait.
const Op* cluster_arrive(WarpContext& c, const Op* op);
const Op* cluster_wait(WarpContext& c, const Op* op);
/// mapa: r[0] address, r[1] address, both 64 bits wide, r[2] rank.
const Op* map_shared(WarpContext& c, const Op* op);
/// clusterlaunchcontrol.try_cancel: r[1] the shared address of the answer, r[2] that of an
/// mbarrier, both 64 bits wide; flags: 1 if all blocks of the cluster receive it. The answer has
/// the first block of the cluster that won't begin, and whether there is one.
const Op* cancel_cluster(WarpContext& c, const Op* op);
/// r[0] predicate, r[1] answer.
const Op* is_cluster_canceled(WarpContext& c, const Op* op);
/// r[0] the coordinate `flags` of the first block, r[1] answer.
const Op* first_block_of_canceled(WarpContext& c, const Op* op);
/// getctarank: r[0] rank, r[1] address, 64 bits wide.
const Op* rank_of_shared(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
