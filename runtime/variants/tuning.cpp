// VariantLoader::tune: measures the rows in turn on the caller's problem.
#include "base/try.hpp"

#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// One row being measured.
struct Contender {
    std::size_t row;
    LoadedVariant variant;
    RowTimes times;
};

/// The time of one launch on the device, in milliseconds.
Result<double> timed_launch(const LoadedVariant& variant, const VariantLaunch& launch,
                            const Stream& stream, const Event& start, const Event& end) {
    LODE_TRY(start.record(stream));
    LODE_TRY(launch(variant, stream));
    LODE_TRY(end.record(stream));
    LODE_TRY(end.sync());
    LODE_TRY_ASSIGN(const float milliseconds, end.elapsed_ms_since(start));
    return double{milliseconds};
}

Status warm_up(const LoadedVariant& variant, const VariantLaunch& launch, const Stream& stream,
               int launches) {
    for (int i = 0; i < launches; ++i)
        LODE_TRY(launch(variant, stream));
    return stream.sync();
}

}  // namespace

Result<TuneReport> VariantLoader::tune(const KernelFamily& family, const TuneOptions& options,
                                       const VariantLaunch& launch) const {
    if (options.variant.problem_class.empty() || options.rounds < 1) {
        return fail(Errc::invalid_argument,
                    fmt::format("Tuning kernel family '{}' needs a problem class and at least one "
                                "round; it has '{}' and {}.",
                                family.name, options.variant.problem_class, options.rounds));
    }
    LODE_TRY(check_family(family));
    LODE_TRY_ASSIGN(const Stream stream, device().create_stream());
    LODE_TRY_ASSIGN(const Event start, device().create_event());
    LODE_TRY_ASSIGN(const Event end, device().create_event());

    TuneReport report;
    for (const auto& row : family.rows)
        report.rows.push_back({.name = row.name});
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < family.rows.size(); ++i) {
        const auto& row = family.rows[i];
        auto& line = report.rows[i];
        if (auto why = refusal_of(row, device_properties(), options.variant.problem)) {
            line.problem = *std::move(why);
        } else if (!row.caveat.empty()) {
            line.problem = row.caveat;
        }
        if (!line.problem.empty()) continue;
        VariantOptions one = options.variant;
        one.forced = row.name;
        auto loaded = load(family, one);
        if (!loaded) {
            line.problem = loaded.error().message;
            continue;
        }
        const auto warmed = warm_up(*loaded, launch, stream, std::max(1, options.warm_ups));
        if (!warmed) {
            // After a sticky error nothing more can be measured on the device.
            if (device().is_lost()) return tl::unexpected<Error>(warmed.error());
            line.problem = warmed.error().message;
            continue;
        }
        contenders.push_back({i, *std::move(loaded), {i, {}}});
    }
    // Rows alternate, so that a drift of the clocks affects all of them equally.
    for (int round = 0; round < options.rounds; ++round) {
        for (auto& contender : contenders) {
            LODE_TRY_ASSIGN(const double milliseconds,
                            timed_launch(contender.variant, launch, stream, start, end));
            contender.times.milliseconds.push_back(milliseconds);
        }
    }

    std::vector<RowTimes> times;
    for (const auto& contender : contenders) {
        report.rows[contender.row].milliseconds = median_of(contender.times.milliseconds);
        times.push_back(contender.times);
    }
    const auto winner = fastest_row(times, options.margin);
    if (!winner) {
        std::string reasons;
        for (const auto& row : report.rows)
            reasons += fmt::format("\n  {}: {}", row.name, row.problem);
        return fail(
            Errc::unsupported_arch,
            fmt::format("No row of kernel family '{}' could be measured.{}", family.name, reasons));
    }
    report.choice = {key(family, options.variant.problem_class), family.rows[*winner].name,
                     report.rows[*winner].milliseconds};
    const auto kept = choices().keep(report.choice);
    report.kept = kept.has_value();
    if (!kept) report.not_kept = kept.error().message;
    return report;
}

}  // namespace LODE_NAMESPACE
