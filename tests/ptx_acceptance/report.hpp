// The differences as text for readers and as a table for programs.
#pragma once

#include "differences.hpp"

namespace lode::ptx_acceptance {

/// The seed of the programs in verdicts.txt.
constexpr std::uint64_t seed = 1;

constexpr std::string_view open_header =
    "# Written by `lode_ptx_judge open`: family, kind, number and digest of the differences that\n"
    "# differences.txt doesn't explain. 'unsupported' and 'unrun' are no errors, and counted "
    "here.\n";

/// Families with the most differences first, each with examples.
[[nodiscard]] std::string text_report(std::span<const Program> programs,
                                      std::span<const Verdict> verdicts,
                                      std::span<const DeviceAnswer> answers,
                                      std::span<const Difference> differences, const Table& table,
                                      std::vector<Explained>& explained);

/// Tab-separated: number, family, kind of program, difference, program, ptxas, device.
[[nodiscard]] std::string machine_report(std::span<const Program> programs,
                                         std::span<const Verdict> verdicts,
                                         std::span<const DeviceAnswer> answers,
                                         std::span<const Difference> differences);

}  // namespace lode::ptx_acceptance
