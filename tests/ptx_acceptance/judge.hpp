// The judge: ptxas, a process for each program. Not linked into the test.
#pragma once

#include "program.hpp"
#include "verdicts.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::ptx_acceptance {

/// Runs `ptxas` on a program. `scratch` begins file names of the caller's own.
[[nodiscard]] Verdict judge(const std::string& ptxas, const Program& program,
                            const std::string& scratch);

/// The machine code of a text's kernel "k": the bytes of its section. Empty when ptxas refuses it;
/// `message` says why.
[[nodiscard]] std::string machine_code(const std::string& ptxas, std::string_view target,
                                       std::string_view text, const std::string& scratch,
                                       std::string& message);

/// Judges all programs, a process for each, as many at a time as there are processors; files go
/// into `scratch_folder`. One text with many entries would be faster, but ptxas then puts some of
/// its errors on a neighbour's lines.
[[nodiscard]] std::vector<Verdict> judge_all(const std::string& ptxas,
                                             std::span<const Program> programs,
                                             const std::string& scratch_folder);

/// "release 13.0, V13.0.88"; empty when `ptxas` can't be run.
[[nodiscard]] std::string version_of(const std::string& ptxas);

}  // namespace lode::ptx_acceptance
