/// \file
/// Kernel variants: several versions of one kernel for different devices, as a table of rows, and
/// the choice among them as a pure function that gives its reasons.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/embedded_file.hpp>
#include <lode/runtime/launch.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The size of one problem. Each family defines its extents, for example n, rows and columns, or m,
/// n and k.
struct Problem {
    std::uint64_t x = 1;  ///< The first extent.
    std::uint64_t y = 1;  ///< The second; 1 where the family doesn't use it.
    std::uint64_t z = 1;  ///< The third; 1 where the family doesn't use it.

    /// Compares every extent.
    friend bool operator==(const Problem&, const Problem&) = default;
};

/// The class of problems of this size alone, such as "4096x1x1": `lode variants --tune` keeps its
/// choices under it, and the operations of lode::kernels look there.
[[nodiscard]] inline std::string problem_class_of(const Problem& problem) {
    return std::to_string(problem.x) + "x" + std::to_string(problem.y) + "x" +
           std::to_string(problem.z);
}

/// The properties of a device that the choice depends on.
struct VariantDeviceProperties {
    ComputeCapability cc;                    ///< The compute capability.
    std::size_t shared_bytes_per_block = 0;  ///< The maximum with opt-in.
    int max_threads_per_block = 0;           ///< The device's limit.
    int multiprocessors = 0;                 ///< Streaming multiprocessors (SMs).
    bool cluster_launch = false;             ///< LaunchShape::cluster is supported.
    bool cooperative_launch = false;         ///< LaunchShape::cooperative is supported.
    bool tensor_maps = false;                ///< The driver can encode tensor maps (for TMA).
};

/// Assumed properties of an absent device of this capability, for planning: limits from the
/// Programming Guide's table "Technical Specifications per Compute Capability", every feature that
/// the capability allows, 100 multiprocessors.
VariantDeviceProperties assumed_device_properties(ComputeCapability cc) noexcept;

/// What a row requires of a device.
struct VariantNeeds {
    /// "sm_80": 8.0 or newer. "sm_90a": exactly 9.0. "sm_100f": its family, from 10.0 on.
    Arch arch;
    std::size_t shared_bytes_per_block = 0;  ///< Static and dynamic.
    int threads_per_block = 0;               ///< The maximum over its launch shapes.
    bool cluster_launch = false;             ///< It launches clusters.
    bool cooperative_launch = false;         ///< It launches cooperatively.
    bool tensor_maps = false;                ///< Its kernel takes tensor maps.
};

/// One variant, as data.
struct VariantRow {
    std::string name;    ///< Unique in its family, without ':' and ',': LODE_FORCE_VARIANT uses it.
    std::string source;  ///< The name of its embedded source file.
    std::string kernel;  ///< The kernel's extern "C" name or its name expression.
    std::vector<std::string> helpers = {};  ///< Names of further kernels of its source, if any.
    VariantNeeds needs;                     ///< What it requires of a device.
    std::vector<Definition> definitions;    ///< Definitions for its compilation.
    /// The launch shape for a problem on a device; must be set.
    std::function<LaunchShape(const Problem&, const VariantDeviceProperties&)> shape;
    /// Why the row can't handle a problem, as a clause; nullopt if it can. If unset, it handles
    /// every problem.
    std::function<std::optional<std::string>(const Problem&)> refuses;
    /// If not empty, the row is used only when forced; the clause says why.
    std::string caveat;
    /// An estimate of the time that a problem takes on a device, in a unit that neighbouring rows
    /// share. Neighbours with an estimate come in its order if the problem is known, else in the
    /// table's; called for any problem and device.
    std::function<double(const Problem&, const VariantDeviceProperties&)> estimate = {};

    /// The suffix that its compilation needs: that of `needs.arch`.
    [[nodiscard]] SuffixPolicy suffix() const noexcept;
};

/// A family of variants. A value; its files must outlive it, as embedded ones do.
struct KernelFamily {
    std::string name;                     ///< LODE_FORCE_VARIANT uses it.
    std::vector<VariantRow> rows;         ///< Best first, but see estimate; the last is portable.
    std::span<const EmbeddedFile> files;  ///< Sources, headers (.cuh) and precompiled cubins.

    /// The row of that name, valid as long as `rows` is unchanged; nullptr if there is none.
    [[nodiscard]] const VariantRow* row(std::string_view row_name) const noexcept;
    /// An embedded file; nullptr when there is none.
    [[nodiscard]] const EmbeddedFile* file(std::string_view file_name) const noexcept;
};

/// Checks a table: names are unique and valid, every row has a shape and its source among the
/// files, and the last row needs no special feature and handles every problem.
/// Errors: invalid_argument with the row and its error.
[[nodiscard]] Status check_family(const KernelFamily& family);

/// Why a row can't run on the device or can't handle the problem, as a clause; nullopt if it can.
std::optional<std::string> refusal_of(const VariantRow& row,
                                      const VariantDeviceProperties& properties,
                                      const std::optional<Problem>& problem = std::nullopt);

/// The indices of the rows that can run, best first, without those that have a caveat.
std::vector<std::size_t> eligible_rows(const KernelFamily& family,
                                       const VariantDeviceProperties& properties,
                                       const std::optional<Problem>& problem = std::nullopt);

/// The chosen row and the steps of the decision.
struct VariantChoice {
    std::size_t row = 0;                 ///< Index into KernelFamily::rows.
    std::vector<TargetStep> steps = {};  ///< The rows that were considered, in order.

    /// The steps as text, one line each.
    [[nodiscard]] std::string describe() const;
};

/// Inputs of a choice besides the device.
struct VariantRequest {
    std::optional<Problem> problem = std::nullopt;  ///< Rows that can't handle it are left out.
    std::string forced = {};     ///< The name of the only row to consider; empty for all.
    std::string preferred = {};  ///< The name of the row to consider first; empty for none.
};

/// Chooses the best row that the device and the problem allow: the first one, or the one with the
/// lowest estimate among its neighbours. A pure function.
/// Errors: not_found for a forced name that doesn't exist, with the existing ones; not_supported
/// for a forced row that can't run here, with the reason; unsupported_arch if no row can run, with
/// every reason.
[[nodiscard]] Result<VariantChoice> select(const KernelFamily& family,
                                           const VariantDeviceProperties& properties,
                                           const VariantRequest& request = {});

/// One item of a text such as "reduce:cluster,gemm:wmma".
struct ForcedRow {
    std::string family;  ///< The name before the colon.
    std::string row;     ///< The name after the colon.
};

/// The items of a text such as "reduce:cluster,gemm:wmma", in order; none for an empty text.
/// Errors: invalid_argument with the item that can't be parsed.
[[nodiscard]] Result<std::vector<ForcedRow>> forced_rows(std::string_view text);

/// The row that such a text forces for a family: the last one if it names several, empty if it
/// names none. Errors: those of forced_rows().
[[nodiscard]] Result<std::string> forced_row(std::string_view text, std::string_view family);

}  // namespace LODE_NAMESPACE

LODE_API_END
