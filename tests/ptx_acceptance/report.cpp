#include "report.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::ptx_acceptance {
namespace {

constexpr std::size_t examples = 30;
constexpr Difference shown[] = {Difference::crashed, Difference::taken, Difference::refused,
                                Difference::vague, Difference::unsupported};

std::size_t of(const Counts& counts, Difference kind) {
    return counts.of[static_cast<std::size_t>(kind)];
}

std::size_t badness(const Counts& counts) {
    return 1000 * of(counts, Difference::crashed) + of(counts, Difference::taken) +
           of(counts, Difference::refused) + of(counts, Difference::vague);
}

std::string head(const Table& table) {
    Counts all;
    for (const auto& [family, counts] : table) {
        all.programs += counts.programs;
        all.accepted += counts.accepted;
        all.explained += counts.explained;
        for (std::size_t k = 0; k < difference_kinds; ++k)
            all.of[k] += counts.of[k];
    }
    return fmt::format(
        "{} programs of {} families; ptxas accepts {} ({} %).\n"
        "The device crashes: {}\n"
        "ptxas refuses, the device accepts: {}\n"
        "ptxas accepts, the device calls it invalid: {}\n"
        "ptxas refuses, the device says only that it doesn't run it, in a family that it runs: {}\n"
        "ptxas accepts, the device doesn't run it (no error): {}\n"
        "ptxas refuses, in families that the device doesn't run at all (no error): {}\n"
        "explained: {}\n\n",
        all.programs, table.size(), all.accepted,
        100 * all.accepted / std::max<std::size_t>(1, all.programs), of(all, Difference::crashed),
        of(all, Difference::taken), of(all, Difference::refused), of(all, Difference::vague),
        of(all, Difference::unsupported), of(all, Difference::unrun), all.explained);
}

}  // namespace

std::string text_report(std::span<const Program> programs, std::span<const Verdict> verdicts,
                        std::span<const DeviceAnswer> answers,
                        std::span<const Difference> differences, const Table& table,
                        std::vector<Explained>& explained) {
    std::string out = head(table);
    std::vector<std::pair<std::string, Counts>> order(table.begin(), table.end());
    std::ranges::stable_sort(order, std::greater<>{},
                             [](const auto& row) { return badness(row.second); });
    out += fmt::format("{:34}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>10}\n", "family",
                       "programs", "accepted", "refused", "CRASHED", "TAKEN", "REFUSED", "VAGUE",
                       "unsupported", "explained");
    for (const auto& [family, counts] : order) {
        out +=
            fmt::format("{:34}{:9}{:9}{:9}{:9}{:9}{:9}{:9}{:12}{:10}{}\n", family, counts.programs,
                        counts.accepted, counts.refused, of(counts, Difference::crashed),
                        of(counts, Difference::taken), of(counts, Difference::refused),
                        of(counts, Difference::vague), of(counts, Difference::unsupported),
                        counts.explained, counts.run == 0 ? "  not run" : "");
    }
    for (const Explained& entry : explained)
        if (entry.used == 0)
            out += "\nAn entry of differences.txt matches nothing: " + entry.text + "\n";
    for (const auto& [family, counts] : order) {
        for (const Difference kind : shown) {
            std::size_t found = 0;
            for (std::size_t k = 0; k < programs.size() && of(counts, kind) > 0; ++k) {
                if (programs[k].family != family || differences[k] != kind ||
                    explain(explained, kind, programs[k], verdicts[k], answers[k]))
                    continue;
                if (found++ == 0)
                    out +=
                        fmt::format("\n== {}: {} ({})\n", family, name_of(kind), of(counts, kind));
                if (found > examples) continue;
                out += fmt::format("  #{} {}: {}\n      ptxas: {}   lode: {}\n", k,
                                   name_of(programs[k].kind), line_of(programs[k]),
                                   verdicts[k].accepted ? "accepts" : verdicts[k].message,
                                   answers[k].message.empty() ? "accepts" : answers[k].message);
            }
            if (found > examples) out += fmt::format("  … and {} more\n", found - examples);
        }
    }
    return out;
}

std::string machine_report(std::span<const Program> programs, std::span<const Verdict> verdicts,
                           std::span<const DeviceAnswer> answers,
                           std::span<const Difference> differences) {
    std::string out;
    for (std::size_t k = 0; k < programs.size(); ++k) {
        if (differences[k] == Difference::none) continue;
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", k, programs[k].family,
                           name_of(programs[k].kind), name_of(differences[k]), line_of(programs[k]),
                           verdicts[k].message, answers[k].message);
    }
    return out;
}

}  // namespace lode::ptx_acceptance
