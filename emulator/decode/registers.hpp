// Placement of a function's registers.
#pragma once

#include "emulator/decode/builder.hpp"

namespace lode::emulator::decode {

/// Gives every register its slot. A register that is written once, from a kernel parameter, a
/// constant or a special register, needs neither space nor an op: it is an alias of an existing
/// slot.
void allocate_registers(Builder& b);

}  // namespace lode::emulator::decode
