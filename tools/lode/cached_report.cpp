#include "tools/lode/cached_report.hpp"

#include "tools/lode/layout.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr double milliseconds_per_second = 1000;

std::string counts_text(const CachedCompilations& counts) {
    return fmt::format(
        "{}: {} from the cache, {} compiled, {} by the original; {:.1f} s saved, {:.1f} s waited",
        counted(counts.all(), "compilation", "compilations"), counts.hits, counts.compiled,
        counts.uncached, counts.saved_seconds, counts.seconds);
}

Json counts_json(const CachedCompilations& counts) {
    return {{"compilations", counts.all()}, {"hits", counts.hits},
            {"compiled", counts.compiled},  {"uncached", counts.uncached},
            {"seconds", counts.seconds},    {"saved_seconds", counts.saved_seconds}};
}

}  // namespace

void CachedCompilations::add(const CachedCompilations& other) noexcept {
    hits += other.hits;
    compiled += other.compiled;
    uncached += other.uncached;
    seconds += other.seconds;
    saved_seconds += other.saved_seconds;
}

CachedReport CachedReport::read(std::string_view journal) {
    CachedReport report;
    while (!journal.empty()) {
        const auto end = std::min(journal.find('\n'), journal.size());
        const auto json = Json::parse(journal.substr(0, end), nullptr, false);
        journal.remove_prefix(std::min(end + 1, journal.size()));
        try {
            const auto outcome = json.at("outcome").get<std::string>();
            const auto reason = json.at("reason").get<std::string>();
            const CachedCompilations one{
                .hits = std::size_t{outcome == "hit"},
                .compiled = std::size_t{outcome == "compiled"},
                .uncached = std::size_t{outcome == "uncached"},
                .seconds = json.at("milliseconds").get<double>() / milliseconds_per_second,
                .saved_seconds =
                    json.at("saved_milliseconds").get<double>() / milliseconds_per_second};
            report.programs[json.at("program").get<std::string>()].add(one);
            report.total.add(one);
            if (!reason.empty()) ++report.reasons[reason];
        } catch (const Json::exception&) {
            continue;
        }
    }
    return report;
}

std::string CachedReport::text() const {
    if (total.all() == 0)
        return "lode: No process has compiled with NVRTC or linked with nvJitLink.\n";
    std::string text = fmt::format("lode: {}.\n", counts_text(total));
    if (programs.size() > 1) {
        for (const auto& [name, counts] : programs)
            text += fmt::format("  {}: {}\n", name, counts_text(counts));
    }
    for (const auto& [reason, count] : reasons)
        text += fmt::format("  not kept, {}: {}\n", counted(count, "time", "times"), reason);
    return text;
}

Json CachedReport::json() const {
    Json json = counts_json(total);
    json["programs"] = Json::object();
    for (const auto& [name, counts] : programs)
        json["programs"][name] = counts_json(counts);
    json["reasons"] = reasons;
    return json;
}

}  // namespace lode::tool
