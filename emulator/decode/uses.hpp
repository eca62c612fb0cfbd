// What a function does with the values in its registers, for the checks of races and of unwritten
// memory.
#pragma once

#include "emulator/decode/flow_graph.hpp"

#include <vector>

namespace lode::emulator::decode {

/// Bits of what may become of a register's value.
inline constexpr u8 use_any = 1;
/// A condition, an address, or the argument of a call depends on it, or something unknown.
inline constexpr u8 use_decides = 2;
/// A compare-and-swap compares it, or a value made of it, with memory.
inline constexpr u8 use_expected = 4;
/// It is stored unchanged where other threads, or the same later, may decide by it.
inline constexpr u8 use_passed_on = 8;

/// By register of the function. Every instruction counts, in any order.
[[nodiscard]] std::vector<u8> register_uses(const FlowGraph& graph);
/// Whether a check wants to know: the function has a volatile load or an atomic.
[[nodiscard]] bool needs_uses(const ptx::Function& function);

}  // namespace lode::emulator::decode
