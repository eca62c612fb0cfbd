// What operations of a whole warp need: every lane at the same op.
#pragma once

#include "emulator/exec/lanes.hpp"
#include "emulator/isa/warp.hpp"

#include <bit>

#include <fmt/format.h>

namespace lode::emulator::exec {

/// Whether all 32 lanes run the op. If not, `next` is what the handler returns: the group waits for
/// lanes that are still to come, and lanes that don't exist or have ended are a fault. The op's
/// last operand holds a mask of all lanes.
[[gnu::always_inline]] inline bool is_whole(WarpContext& c, const Op* op, const Op*& next) {
    if (c.mask == all_lanes) [[likely]]
        return true;
    if ((c.warp->live & ~c.mask) != 0) {
        next = park(c, sync_wait, op);
        return false;
    }
    const auto lane = static_cast<u32>(std::countr_zero(c.mask));
    next = raise(c, op, lane, Fault::illegal_instruction,
                 fmt::format("executes an operation of a whole warp with {} of its 32 lanes",
                             std::popcount(c.mask)));
    return false;
}

}  // namespace lode::emulator::exec
