// Placement of a function's registers.
#pragma once

#include "emulator/decode/builder.hpp"

#include <vector>

namespace lode::emulator::decode {

/// Gives every register its slot. A register that is written once, from a kernel parameter, a
/// constant or a special register, needs neither space nor an op: it is an alias of an existing
/// slot. Others of one size share a slot if their lives don't overlap, except those of `keep`, of
/// which checks remember something by slot. Also finds which accesses make their own addresses,
/// because that decides what is read where.
void allocate_registers(Builder& b, const std::vector<bool>& keep);

}  // namespace lode::emulator::decode
