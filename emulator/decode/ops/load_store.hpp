// Memory ops.
#pragma once

#include "emulator/decode/op.hpp"

namespace lode::emulator::exec {

/// The index in Op::r of an access's index in Kernel::shared_variables; no_slot if unknown.
inline constexpr u32 variable_operand = 7;

/// In Op::flags: the registers' values are only stored, so that the access is part of a copy.
inline constexpr u16 access_copies = 1;

enum class MemorySpace : u8 { global, generic, shared, local, parameter };

/// r[0] = the generic address of the lane's own local memory at r[1], 64 bits each.
const Op* generic_local_address(WarpContext& c, const Op* op);

/// The handler of a load or store of `parts` elements of `bytes` each; nullptr if there is none.
/// `narrow`: the addresses are in a 32-bit register (shared and local memory only).
Handler memory_handler(MemorySpace space, bool store, u32 bytes, u32 parts, bool narrow);

}  // namespace lode::emulator::exec
