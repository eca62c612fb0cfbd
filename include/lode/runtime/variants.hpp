// Kernel variants: one kernel written several times for different devices, as a table of rows,
// and the choice among them as a pure function with reasons.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/launch.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// A file carried inside the program; CMake's lode_embed_kernels makes them.
struct EmbeddedFile {
    std::string_view name;     ///< "reduce_sm80.cu", or "reduce_sm80.sm_80.cubin" when precompiled.
    std::string_view content;  ///< Lives as long as the program.
};

/// The size of one problem; what each extent means is the family's word (n; rows, columns; m, n,
/// k).
struct Problem {
    std::uint64_t x = 1;
    std::uint64_t y = 1;
    std::uint64_t z = 1;

    friend bool operator==(const Problem&, const Problem&) = default;
};

/// Everything about a device that the choice depends on.
struct VariantFacts {
    ComputeCapability cc;
    std::size_t shared_bytes_per_block = 0;  ///< With opt-in.
    int max_threads_per_block = 0;
    int multiprocessors = 0;
    bool cluster_launch = false;
    bool cooperative_launch = false;
    bool tensor_maps = false;  ///< The driver encodes tensor maps (for TMA).
};

/// The facts of a device of this capability that isn't here, for planning: limits from the
/// Programming Guide's table "Technical Specifications per Compute Capability", everything that the
/// capability allows taken to be there, 100 multiprocessors.
VariantFacts assumed_facts(ComputeCapability cc) noexcept;

/// What a row needs of a device.
struct VariantNeeds {
    /// "sm_80": 8.0 or newer. "sm_90a": exactly 9.0. "sm_100f": its family, from 10.0 on.
    Arch arch;
    std::size_t shared_bytes_per_block = 0;  ///< Static and dynamic.
    int threads_per_block = 0;
    bool cluster_launch = false;
    bool cooperative_launch = false;
    bool tensor_maps = false;
};

/// One variant, as data.
struct VariantRow {
    std::string name;    ///< What LODE_FORCE_VARIANT=family:name says.
    std::string source;  ///< The name of its embedded source file.
    std::string kernel;  ///< The kernel's name, extern "C", or a name expression.
    VariantNeeds needs;
    std::vector<Definition> definitions;
    /// The launch shape for a problem on a device.
    std::function<LaunchShape(const Problem&, const VariantFacts&)> shape;
    /// Why the row can't do a problem; nullopt when it can. Unset: it does them all.
    std::function<std::optional<std::string>(const Problem&)> refuses;
    /// Not empty: the row is taken only when forced, and this sentence says why.
    std::string caveat;

    /// Which suffix its compilation asks for.
    [[nodiscard]] SuffixPolicy suffix() const noexcept;
};

/// A family of variants: rows best first, the last one portable.
struct KernelFamily {
    std::string name;
    std::vector<VariantRow> rows;
    std::span<const EmbeddedFile> files;

    /// The row of that name; nullptr when there is none.
    [[nodiscard]] const VariantRow* row(std::string_view row_name) const noexcept;
    /// An embedded file; nullptr when there is none.
    [[nodiscard]] const EmbeddedFile* file(std::string_view file_name) const noexcept;
};

/// Checks a table: names are unique and not empty, every row has a shape and its source among the
/// files, and the last row needs nothing beyond its capability and does every problem.
/// invalid_argument names the row.
[[nodiscard]] Status check_family(const KernelFamily& family);

/// Why the device or the problem refuses a row; nullopt when it can run.
std::optional<std::string> refusal_of(const VariantRow& row, const VariantFacts& facts,
                                      const std::optional<Problem>& problem = std::nullopt);

/// The rows that can run, best first, without those that have a caveat.
std::vector<std::size_t> eligible_rows(const KernelFamily& family, const VariantFacts& facts,
                                       const std::optional<Problem>& problem = std::nullopt);

/// The chosen row and how it came about.
struct VariantChoice {
    std::size_t row = 0;
    std::vector<TargetStep> steps = {};

    [[nodiscard]] std::string describe() const;
};

/// What a choice may be told besides the device.
struct VariantRequest {
    std::optional<Problem> problem = std::nullopt;
    std::string forced = {};     ///< A row's name: it and nothing else.
    std::string preferred = {};  ///< A row's name, from tuning: it where it can run.
};

/// Chooses the first row that the device and the problem allow; pure.
/// Errors: not_found for a forced name that isn't there, listing those that are; not_supported
/// for a forced row that can't run here, with the reason; unsupported_arch when no row can, with
/// every reason.
[[nodiscard]] Result<VariantChoice> select(const KernelFamily& family, const VariantFacts& facts,
                                           const VariantRequest& request = {});

/// One item of a text such as "reduce:cluster,gemm:wmma".
struct ForcedRow {
    std::string family;
    std::string row;
};

/// Its items in order. invalid_argument for a text that isn't readable, with its form.
[[nodiscard]] Result<std::vector<ForcedRow>> forced_rows(std::string_view text);

/// The row that such a text forces for a family, the last one of several; empty when it forces
/// none. Errors: those of forced_rows().
[[nodiscard]] Result<std::string> forced_row(std::string_view text, std::string_view family);

}  // namespace lode
