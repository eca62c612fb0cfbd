// VariantLoader: kernel families loaded on one device, with fallback and tuning.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/log.hpp>
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
#include <string>
#include <utility>
#include <vector>

namespace lode {

/// How to load one family.
struct VariantOptions {
    std::optional<Problem> problem = std::nullopt;  ///< Rows that can't do it are left out.
    /// A row's name: it and nothing else. LODE_FORCE_VARIANT says so when this is empty; where it
    /// names families and none of them is loaded, one warning in the loader's log says that.
    std::string forced = {};
    /// Not empty: a row that tune() has found the fastest for this class comes first.
    std::string problem_class = {};
    bool strict = false;          ///< A row that fails to compile or load is an error.
    CompileOptions compile = {};  ///< The row's definitions are added.
};

/// A row, loaded. A value; the kernel keeps its code loaded.
struct LoadedVariant {
    std::string family;
    VariantRow row;
    UntypedKernel kernel;
    VariantFacts facts;
    std::vector<TargetStep> steps;  ///< How the row came to be chosen.

    [[nodiscard]] LaunchShape shape(const Problem& problem) const {
        return row.shape(problem, facts);
    }
    /// One line per step.
    [[nodiscard]] std::string describe() const { return lode::describe(steps); }
};

/// What a loader has done so far.
struct VariantCounters {
    std::uint64_t loads = 0;      ///< Rows loaded.
    std::uint64_t fallbacks = 0;  ///< Rows that failed and were stepped over.
    std::uint64_t tuned = 0;      ///< Loads that took a kept choice.
};

/// How to measure. Times are the device's, by events.
struct TuneOptions {
    VariantOptions variant = {};  ///< problem_class must be set: it names the kept choice.
    int warm_ups = 3;             ///< Launches of a row before its first measured one.
    int rounds = 15;              ///< Measured launches per row; the rows take turns.
    double margin = 0.02;         ///< A row further down must be faster by this to win.
};

/// The outcome of a tuning.
struct TuneReport {
    struct Row {
        std::string name;
        double milliseconds = 0;   ///< The median; 0 when it wasn't measured.
        std::string problem = {};  ///< Why it wasn't; empty when it was.
    };
    TunedChoice choice;
    bool kept = false;          ///< Whether the choice could be written down.
    std::string not_kept = {};  ///< Why it couldn't.
    std::vector<Row> rows;      ///< In the table's order.
};

/// Launches one problem on a variant; called many times, in a stream's order.
using VariantLaunch = std::function<Status(const LoadedVariant&, StreamRef)>;

/// Loads kernel families on one device. Thread-safe; copies share the counters.
class VariantLoader {
public:
    VariantLoader(const Runtime& runtime, Device device, Log log = {},
                  TunedChoices choices = TunedChoices());

    [[nodiscard]] const Device& device() const noexcept;
    [[nodiscard]] const VariantFacts& facts() const noexcept;
    [[nodiscard]] const TunedChoices& choices() const noexcept;
    [[nodiscard]] VariantCounters counters() const noexcept;

    /// What a tuned choice of this device is kept under.
    [[nodiscard]] TuneKey key(const KernelFamily& family, std::string problem_class) const;

    /// The row that load() would try first, without loading anything. Errors: those of select(),
    /// and of an unreadable LODE_FORCE_VARIANT.
    [[nodiscard]] Result<VariantChoice> choose(const KernelFamily& family,
                                               const VariantOptions& options = {}) const;

    /// Compiles and loads the chosen row. When it fails, the next row that can run follows, with
    /// one warning in the log and one count; a forced row and strict mode give the error instead.
    /// The family's .cuh files are the headers that its sources include.
    /// A row without definitions is loaded from a precompiled file where the family has one for
    /// the device.
    [[nodiscard]] Result<LoadedVariant> load(const KernelFamily& family,
                                             const VariantOptions& options = {}) const;

    /// Measures every row that can run, on a stream of its own, and keeps the winner for the
    /// device's model, the driver and the problem class. Rows that fail to load or launch are
    /// reported, not measured. Errors: invalid_argument without a problem class or with fewer than
    /// one round; unsupported_arch when no row could be measured, with each one's error.
    [[nodiscard]] Result<TuneReport> tune(const KernelFamily& family, const TuneOptions& options,
                                          const VariantLaunch& launch) const;

private:
    struct State;
    [[nodiscard]] Result<UntypedKernel> load_row(const KernelFamily& family, const VariantRow& row,
                                                 const VariantOptions& options) const;
    std::shared_ptr<State> state_;
};

/// The facts of a device, for select().
[[nodiscard]] VariantFacts facts_of(const Device& device);

/// Tries the chosen row and, where `falls_through`, the next ones that can run, until `load`
/// succeeds. Pure but for `load`; `on_failure` hears of each row stepped over.
[[nodiscard]] Result<VariantChoice> first_that_loads(
    const KernelFamily& family, const VariantFacts& facts, const VariantRequest& request,
    bool falls_through, const std::function<Status(const VariantRow&)>& load,
    const std::function<void(const VariantRow&, const Error&)>& on_failure);

}  // namespace lode
