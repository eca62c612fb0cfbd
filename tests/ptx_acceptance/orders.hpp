// Checks what an order of modifiers means: the same as the table's order if the machine code is
// equal.
#pragma once

#include "program.hpp"
#include "verdicts.hpp"

namespace lode::ptx_acceptance {

/// Returns a line for each accepted program of kind order: same, different, or why it is unknown.
/// The registers are loaded from and stored to memory, so that nothing is optimised away.
[[nodiscard]] std::string orders_report(const std::string& ptxas, std::span<const Program> programs,
                                        std::span<const Verdict> verdicts,
                                        const std::string& scratch_folder);

}  // namespace lode::ptx_acceptance
