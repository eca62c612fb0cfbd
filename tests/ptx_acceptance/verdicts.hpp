// What ptxas said to every program, kept in a file, so that the test needs no ptxas.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lode::ptx_acceptance {

struct Verdict {
    bool accepted = false;
    bool crashed = false;  ///< ptxas crashed: no verdict.
    /// The first error, without names and numbers: "Unknown modifier '*'". Empty when accepted.
    std::string message;
};

/// A message of ptxas without what differs from program to program.
[[nodiscard]] std::string without_names(std::string_view message);

struct VerdictFile {
    std::string judge;              ///< "release 13.0, V13.0.88"
    std::uint64_t seed = 0;         ///< Of the programs.
    std::uint64_t digest = 0;       ///< Of the programs' texts.
    std::vector<Verdict> verdicts;  ///< In the order of the programs.
};

[[nodiscard]] std::uint64_t digest_of(std::span<const Program> programs);

/// On failure `error` says where the file is wrong.
[[nodiscard]] bool read_verdicts(const std::string& path, VerdictFile& file, std::string& error);
[[nodiscard]] bool write_verdicts(const std::string& path, const VerdictFile& file,
                                  std::span<const Program> programs);

}  // namespace lode::ptx_acceptance
