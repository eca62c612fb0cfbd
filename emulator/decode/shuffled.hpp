// Which values come from shuffles and may stay unused, for the check for absent lanes.
#pragma once

#include "emulator/decode/flow_graph.hpp"

#include <vector>

namespace lode::emulator::decode {

class Builder;

/// By register of the function: whether it may hold what a shuffle has taken, or what is computed
/// from that, without being used for sure. A value is used where it decides, is stored, or goes to
/// another lane or function. Empty if there are no such registers.
[[nodiscard]] std::vector<bool> shuffled_registers(const FlowGraph& graph);

/// Emits a note of the current instruction's accesses to such registers.
void note_shuffled_registers(Builder& b, const std::vector<bool>& registers);

}  // namespace lode::emulator::decode
