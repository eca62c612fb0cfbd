// Registers through which memory is copied, so that the check for unwritten memory can carry the
// marks of unwritten bytes, such as padding, from a load to a store.
#pragma once

#include "emulator/decode/builder.hpp"

#include <vector>

namespace lode::emulator::decode {

/// By register of the function: whether it may hold what a load has read, and its values are only
/// stored, or moved to other such registers.
[[nodiscard]] std::vector<bool> copied_registers(const FlowGraph& graph);

/// By instruction of the function: whether it is a load that may be of padding. Structures are
/// copied by accesses beside each other, of which those of the memory loaded or those of the memory
/// stored have one address register, or byte by byte in a loop.
[[nodiscard]] std::vector<bool> padding_loads(const FlowGraph& graph);

/// Before the current instruction: emits what keeps the marks of copied registers right if it isn't
/// itself a load that notes them. A move passes them on, any other result has none.
void note_copies(Builder& b);

}  // namespace lode::emulator::decode
