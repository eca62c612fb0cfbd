// Where the registers of a function lie.
#pragma once

#include "emulator/decode/builder.hpp"

namespace lode::emulator::decode {

/// Gives every register its slot. One that is written once, by a parameter of the kernel, a
/// constant or a special register, needs neither a place nor an op: it becomes an alias of a slot
/// that exists anyway.
void allocate_registers(Builder& b);

}  // namespace lode::emulator::decode
