// What lode_bench_kernels is asked to measure.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/variants.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::bench {

/// One family and the sizes to measure; no sizes: the family's own.
struct FamilyRequest {
    std::string family;
    std::vector<Problem> problems;
};

struct KernelArguments {
    std::vector<FamilyRequest> families;  ///< Empty: all.
    std::string json;                     ///< The file for the results; empty for none.
    std::string commit;                   ///< Recorded in the results as it is.
    std::size_t rounds = 21;
    bool peers = true;
    bool chosen = false;  ///< Only the row of a family that is chosen for the problem.
    bool tune = false;
    bool help = false;
};

/// The text of --help, without the list of families.
std::string_view kernel_usage() noexcept;

/// "1000", "2^20", "4096x4096x4096", "2^10x128": up to three extents.
/// Errors: invalid_argument.
[[nodiscard]] Result<Problem> parse_problem(std::string_view text);

/// "2^16..2^28,1000": sizes and ranges. A range doubles its first extent; the others stay.
/// Errors: invalid_argument.
[[nodiscard]] Result<std::vector<Problem>> parse_problems(std::string_view text);

/// The arguments after the program's name. Errors: invalid_argument.
[[nodiscard]] Result<KernelArguments> parse_kernel_arguments(
    std::span<const char* const> arguments);

/// "4096x4096x4096"; "65536".
std::string text_of(const Problem& problem);

}  // namespace lode::bench
