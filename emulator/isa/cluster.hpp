// Ops for the blocks of a cluster.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// An address in another block's shared memory has the block's rank plus one above these bits. The
/// addresses of a block's own shared memory have zeros there.
inline constexpr u32 rank_shift = 24;
inline constexpr u32 rank_mask = 0xff;
inline constexpr u32 own_offset_mask = (u32{1} << rank_shift) - 1;

struct CancelFlags {
    bool generic = false;    ///< The addresses are generic.
    bool multicast = false;  ///< Every block of the cluster gets the response.
};

}  // namespace lode::emulator::exec
