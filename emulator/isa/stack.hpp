// alloca, stacksave and stackrestore: local memory that a function takes while it runs.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

// r[0] is Frame::allocated of the function, in every op.
const Op* stack_reset(WarpContext& c, const Op* op);
/// r[1] the address, 64 bits; r[2] the size, 64 bits; imm: the alignment.
const Op* stack_allocate(WarpContext& c, const Op* op);
const Op* stack_save(WarpContext& c, const Op* op);     ///< r[1] the top of the stack, 64 bits.
const Op* stack_restore(WarpContext& c, const Op* op);  ///< r[1] a saved top, 64 bits.

}  // namespace lode::emulator::exec
