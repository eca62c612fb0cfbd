// What an order of modifiers means: that of the table's order if the machine code is the same.
#pragma once

#include "program.hpp"
#include "verdicts.hpp"

namespace lode::ptx_acceptance {

/// A line for each accepted program of kind order: the same, or different, or why it can't be said.
/// Registers come from memory and go there, so that nothing is optimised away.
[[nodiscard]] std::string orders_report(const std::string& ptxas, std::span<const Program> programs,
                                        std::span<const Verdict> verdicts,
                                        const std::string& scratch_folder);

}  // namespace lode::ptx_acceptance
