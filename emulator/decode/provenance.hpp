// Which shared variable an address comes from, so that an access outside of it is found even if it
// hits another variable.
#pragma once

#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/kernel.hpp"

#include <vector>

namespace lode::emulator::decode {

/// The variable of an operand: an index in DecodedKernel::shared_variables.
inline constexpr u32 no_variable = ~u32{0};
/// Addresses of several variables may be in the register.
inline constexpr u32 several_variables = ~u32{0} - 1;

/// By register of the function. Every value that flows into a register counts, in any order of the
/// instructions. Loads and results of calls come from no variable; a register that may hold one of
/// them or a variable's address has several.
[[nodiscard]] std::vector<u32> shared_origins(const KernelBuild& build, const FlowGraph& graph);
/// The variable that an operand's address comes from.
[[nodiscard]] u32 origin_of(const KernelBuild& build, const ptx::Function& function,
                            const ptx::Operand& operand, const std::vector<u32>& origins);

}  // namespace lode::emulator::decode
