// The judge: runs ptxas in a process per program. Not linked into the test.
#pragma once

#include "program.hpp"
#include "verdicts.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::ptx_acceptance {

/// Runs `ptxas` on a program. `scratch` is a prefix for temporary files, unique to the caller.
[[nodiscard]] Verdict judge(const std::string& ptxas, const Program& program,
                            const std::string& scratch);

/// The machine code of the kernel "k": the bytes of its section. If ptxas refuses the text, returns
/// an empty string and sets `message`.
[[nodiscard]] std::string machine_code(const std::string& ptxas, std::string_view target,
                                       std::string_view text, const std::string& scratch,
                                       std::string& message);

/// Judges all programs in a process each, as many at a time as there are processors; writes files
/// in `scratch_folder`. One text with many entries would be faster, but ptxas then reports some
/// errors on a neighbour's lines.
[[nodiscard]] std::vector<Verdict> judge_all(const std::string& ptxas,
                                             std::span<const Program> programs,
                                             const std::string& scratch_folder);

/// Such as "release 13.0, V13.0.88"; empty if `ptxas` can't be run.
[[nodiscard]] std::string version_of(const std::string& ptxas);

}  // namespace lode::ptx_acceptance
