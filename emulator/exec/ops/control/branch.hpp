// Branches of a warp's lanes, for the handlers that end with one.
#pragma once

#include "emulator/exec/warp_context.hpp"

namespace lode::emulator::exec {

/// Every backward branch reduces the budget, so that every loop eventually gives up its turn.
[[gnu::always_inline]] inline const Op* go(WarpContext& c, const Op* op, const Op* target) {
    if (target <= op && --c.budget <= 0) [[unlikely]]
        return give_up_turn(c, target);
    return target;
}

/// The lanes of `taken`, all of them active, branch to the op's target.
[[gnu::always_inline]] inline const Op* branch_on(WarpContext& c, const Op* op, u32 taken) {
    if (taken == 0) return op + 1;
    if (taken == c.mask) return go(c, op, op->target);
    if (op->target <= op) --c.budget;
    return diverge(c, taken, op->target, op + 1);
}

}  // namespace lode::emulator::exec
