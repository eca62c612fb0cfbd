// Counts and reports the findings of checks that don't stop the kernel.
#include "emulator/exec/debug_hook.hpp"
#include "emulator/exec/scheduler.hpp"

#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

std::string text_of(const std::vector<SourcePlace>& stack) {
    std::string text;
    for (const SourcePlace& place : stack)
        text += fmt::format("{}:{}\n", place.file, place.line);
    return text;
}

/// What findings of one cause have in common: the lines of both accesses, with the calls that
/// inlined them, and the headline or, where the two lines may be either way round, the memory.
std::string cause_of(const FindingReport& report, const std::string& thing) {
    std::string here = text_of(report.stack);
    std::string there = text_of(report.earlier);
    if (thing.empty() || here.empty() || there.empty())
        return report.text.substr(0, report.text.find('\n')) + "\n" + here + "\n" + there;
    if (there < here) std::swap(here, there);
    return fmt::format("{} {}\n{}\n{}", report.kind, thing, here, there);
}

}  // namespace

bool is_new_finding(WarpContext& c, const Op* op, Finding kind, u64 cause) {
    Launch& launch = *c.launch;
    if (kind != Finding::benign_race) launch.findings.fetch_add(1);
    if (!launch.options->finding) return false;
    constexpr std::size_t most_causes = std::size_t{1} << 14;
    const std::lock_guard lock(launch.mutex);
    const auto known = launch.seen.find({op, kind, cause});
    if (known != launch.seen.end()) {
        ++known->second.count;
        return false;
    }
    if (launch.seen.size() >= most_causes ||
        launch.reported_of_kind[static_cast<std::size_t>(kind)] >= launch.options->most_findings)
        return false;
    launch.seen[{op, kind, cause}].count = 1;
    return true;
}

void report_finding(WarpContext& c, const Op* op, u32 lane, Finding kind, std::string_view what,
                    OtherAccess earlier, u64 cause) {
    Launch& launch = *c.launch;
    FindingReport report = report_at(launch, *c.warp, lane, op, c.frame);
    report.kind = name_of(kind);
    report.earlier = std::move(earlier.stack);
    report.benign = kind == Finding::benign_race;
    describe(launch, report, what);
    const std::lock_guard lock(launch.mutex);
    const auto number = static_cast<u32>(launch.reported.size());
    const auto [known, is_new] = launch.numbers.emplace(cause_of(report, earlier.thing), number);
    launch.seen[{op, kind, cause}].number = known->second;
    if (!is_new) return;
    ++launch.reported_of_kind[static_cast<std::size_t>(kind)];
    report.number = number;
    launch.reported.push_back(report);
    launch.options->finding(report);
    if (launch.options->debug != nullptr) launch.options->debug->found(c, op, lane, report.text);
}

void tell_repeated(Launch& launch) try {
    std::vector<u64> counts(launch.reported.size());
    for (const auto& [key, one] : launch.seen) {
        if (one.number != FindingCount::unreported) counts[one.number] += one.count;
    }
    for (FindingReport& report : launch.reported) {
        report.count = counts[report.number] - 1;
        if (report.count != 0) launch.options->repeated(report);
    }
} catch (...) {  // NOLINT(bugprone-empty-catch): without memory, only the counts are lost.
}

std::string_view name_of(Finding kind) noexcept {
    static constexpr std::string_view names[] = {
        "race",        "benign-race",       "unwritten",     "member-masks",
        "absent-lane", "divergent-barrier", "barrier-count", "mbarrier",
        "proxy-fence", "wgmma-wait",        "wgmma-fence",   "fault"};
    static_assert(std::size(names) == static_cast<std::size_t>(Finding::count));
    return names[static_cast<std::size_t>(kind)];
}

}  // namespace lode::emulator::exec
