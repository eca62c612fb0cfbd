/// \file
/// VariantLoader: loads kernel families on one device, with fallback and tuning.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/stream.hpp>
#include <lode/runtime/variants.hpp>
#include <lode/runtime/variants_choices.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Options for loading one family.
struct VariantOptions {
    std::optional<Problem> problem = std::nullopt;  ///< Rows that can't handle it are left out.
    /// The name of the only row to consider. If empty, LODE_FORCE_VARIANT may name one; if that
    /// variable names only families that aren't loaded, the loader logs one warning.
    std::string forced = {};
    /// If not empty, the row that tune() found fastest for this class comes first.
    std::string problem_class = {};
    bool strict = false;          ///< A row that fails to compile or load is an error.
    CompileOptions compile = {};  ///< The row's definitions are added.
};

/// A loaded row. A value; the kernel keeps its code loaded.
struct LoadedVariant {
    std::string family;                         ///< KernelFamily::name
    VariantRow row;                             ///< A copy of the row.
    UntypedKernel kernel;                       ///< The row's kernel.
    std::vector<UntypedKernel> helpers;         ///< In the order of VariantRow::helpers.
    VariantDeviceProperties device_properties;  ///< Properties of the loader's device.
    std::vector<TargetStep> steps;              ///< The steps of the choice.

    /// The launch shape for a problem on the loader's device.
    [[nodiscard]] LaunchShape shape(const Problem& problem) const {
        return row.shape(problem, device_properties);
    }
    /// The steps as text, one line each.
    [[nodiscard]] std::string describe() const { return lode::describe(steps); }
};

/// A loader's totals so far.
struct VariantCounters {
    std::uint64_t loads = 0;      ///< Rows loaded.
    std::uint64_t fallbacks = 0;  ///< Rows that failed to load, so that the next one was tried.
    std::uint64_t tuned = 0;      ///< Loads that used a tuned choice.
};

/// Options of a measurement. Times are taken on the device, with events.
struct TuneOptions {
    VariantOptions variant = {};  ///< problem_class must be set: it names the kept choice.
    int warm_ups = 3;             ///< Launches of a row before its first measured one.
    int rounds = 15;              ///< Measured launches per row; the rows take turns.
    double margin = 0.02;         ///< How much faster a later row must be to win; 0.02 is 2 %.
};

/// The outcome of a tuning.
struct TuneReport {
    /// One row of the family.
    struct Row {
        std::string name;          ///< VariantRow::name
        double milliseconds = 0;   ///< The median; 0 when it wasn't measured.
        std::string problem = {};  ///< Why it wasn't measured; empty if it was.
    };
    TunedChoice choice;         ///< The winner.
    bool kept = false;          ///< Whether the choice was written to its file.
    std::string not_kept = {};  ///< Why it wasn't; empty if it was.
    std::vector<Row> rows;      ///< In the table's order.
};

/// Launches one problem with a variant: enqueues it on the stream and doesn't wait. Called many
/// times.
using VariantLaunch = std::function<Status(const LoadedVariant&, StreamRef)>;

/// Loads kernel families on one device. Copies share everything; keeps the device alive.
/// Thread-safe.
class VariantLoader {
public:
    /// `device` must be of `runtime`, whose driver's version is part of the key of tuned choices.
    VariantLoader(const Runtime& runtime, Device device, Log log = {},
                  TunedChoices choices = TunedChoices());

    /// The device to load on.
    [[nodiscard]] const Device& device() const noexcept;
    /// The properties of the device that choices depend on.
    [[nodiscard]] const VariantDeviceProperties& device_properties() const noexcept;
    /// Where tuned choices are kept.
    [[nodiscard]] const TunedChoices& choices() const noexcept;
    /// Totals so far, over all copies.
    [[nodiscard]] VariantCounters counters() const noexcept;

    /// The key under which a tuned choice for this device is kept.
    [[nodiscard]] TuneKey key(const KernelFamily& family, std::string problem_class) const;

    /// The row that load() would try first; loads nothing. Errors: those of select() and
    /// check_family(); invalid_argument for a LODE_FORCE_VARIANT that can't be parsed.
    [[nodiscard]] Result<VariantChoice> choose(const KernelFamily& family,
                                               const VariantOptions& options = {}) const;

    /// Compiles and loads the chosen row.
    ///
    /// If that fails, a warning is logged and the next row that can run is tried; with a forced row
    /// or in strict mode the error is returned instead. Sources can include the family's .cuh
    /// files. A row without definitions is loaded from a precompiled file if the family has one for
    /// the device and `options.compile` is the default. Errors: those of choose() and
    /// Device::load().
    [[nodiscard]] Result<LoadedVariant> load(const KernelFamily& family,
                                             const VariantOptions& options = {}) const;

    /// Measures every row that can run and keeps the winner for the device's model, the driver and
    /// the problem class. Launches run on a separate stream; blocks until all are done.
    ///
    /// Rows that fail to load or to warm up are reported, not measured. Errors: invalid_argument
    /// without a problem class or with fewer than one round; unsupported_arch if no row could be
    /// measured, with the error of each; the error of a measured launch; device_lost.
    [[nodiscard]] Result<TuneReport> tune(const KernelFamily& family, const TuneOptions& options,
                                          const VariantLaunch& launch) const;

private:
    struct State;
    /// The row's kernel, followed by its helpers.
    [[nodiscard]] Result<std::vector<UntypedKernel>> load_row(const KernelFamily& family,
                                                              const VariantRow& row,
                                                              const VariantOptions& options) const;
    std::shared_ptr<State> state_;
};

/// What a loader compiles for one row. To fill a cache beforehand, compile it for the target that
/// Device::target(suffix) gives on a device, or choose_target() for one that isn't here.
struct VariantCompilation {
    std::string row;                            ///< VariantRow::name
    Source source;                              ///< The row's source.
    CompileOptions options;                     ///< With the row's definitions and headers.
    std::vector<std::string> name_expressions;  ///< As name_expressions_for() gives for its kernel.
    SuffixPolicy suffix = SuffixPolicy::none;   ///< The suffix that the row needs.
};

/// The compilations of a family on a device: one for each row that can run there with some problem
/// and that has no precompiled code for it. `rows` names the rows to take; if it is empty, all but
/// those that have a caveat. `options` are VariantOptions::compile. Errors: those of
/// check_family(); not_found for the name of a row that doesn't exist.
[[nodiscard]] Result<std::vector<VariantCompilation>> compilations_of(
    const KernelFamily& family, const VariantDeviceProperties& properties,
    const CompileOptions& options = {}, std::span<const std::string> rows = {});

/// The properties of a device that select() depends on.
[[nodiscard]] VariantDeviceProperties variant_device_properties(const Device& device);

/// Calls `load` with the chosen row and, if `falls_through`, with the next rows that can run until
/// it succeeds. Calls `on_failure` for each row that fails before another is tried. Errors: those
/// of select(); the last error of `load`.
[[nodiscard]] Result<VariantChoice> first_that_loads(
    const KernelFamily& family, const VariantDeviceProperties& properties,
    const VariantRequest& request, bool falls_through,
    const std::function<Status(const VariantRow&)>& load,
    const std::function<void(const VariantRow&, const Error&)>& on_failure);

}  // namespace LODE_NAMESPACE

LODE_API_END
