// Ops for the blocks of a cluster.
#pragma once

#include "emulator/isa/op.hpp"

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
/// getctarank: r[0] rank, r[1] address, 64 bits wide.
const Op* rank_of_shared(WarpContext& c, const Op* op);

/// clusterlaunchcontrol.try_cancel: r[1] the address of the response, r[2] that of the mbarrier;
/// flags: cancel_generic, cancel_multicast.
const Op* try_cancel(WarpContext& c, const Op* op);
inline constexpr u16 cancel_generic = 1;    ///< The addresses are generic.
inline constexpr u16 cancel_multicast = 2;  ///< Every block of the cluster gets the response.
/// clusterlaunchcontrol.query_cancel: r[0] whether the response, r[1], is a success.
const Op* is_cancelled(WarpContext& c, const Op* op);
/// r[0] the coordinate that flags gives of the cancelled cluster's first block; r[1] the response.
const Op* first_cancelled(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
