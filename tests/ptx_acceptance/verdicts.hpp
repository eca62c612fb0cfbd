// ptxas's verdicts on all programs, stored in a file, so that the test doesn't need ptxas.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lode::ptx_acceptance {

struct Verdict {
    bool accepted = false;
    bool crashed = false;  ///< ptxas crashed, so there is no verdict.
    /// The first error without names and numbers: "Unknown modifier '*'". Empty if accepted.
    std::string message;
};

/// ptxas's message without the parts that differ between programs.
[[nodiscard]] std::string without_names(std::string_view message);

struct VerdictFile {
    std::string judge;              ///< Such as "release 13.0, V13.0.88".
    std::uint64_t seed = 0;         ///< The programs' seed.
    std::uint64_t digest = 0;       ///< Digest of the programs' texts.
    std::vector<Verdict> verdicts;  ///< In the programs' order.
};

[[nodiscard]] std::uint64_t digest_of(std::span<const Program> programs);

/// On failure, `error` says where the file is wrong.
[[nodiscard]] bool read_verdicts(const std::string& path, VerdictFile& file, std::string& error);
[[nodiscard]] bool write_verdicts(const std::string& path, const VerdictFile& file,
                                  std::span<const Program> programs);

}  // namespace lode::ptx_acceptance
