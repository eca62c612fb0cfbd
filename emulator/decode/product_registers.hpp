// Which registers hold what wgmma reads and writes, for the race check.
#pragma once

#include "emulator/decode/flow_graph.hpp"
#include "emulator/isa/tensor.hpp"

#include <vector>

namespace lode::emulator::decode {

class Builder;

/// By register of the function: whether it is in a list of registers of wgmma.mma_async, or moves
/// lead from one of them to it. Empty if there are none.
[[nodiscard]] std::vector<bool> product_registers(const FlowGraph& graph);

/// Emits a note of the current instruction's accesses to such registers, if it isn't wgmma itself.
void note_product_registers(Builder& b, const std::vector<bool>& registers);

}  // namespace lode::emulator::decode
