#include "tools/lode/emulation_report.hpp"

#include "tools/lode/layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// Reports of each kind that the summary shows.
constexpr std::size_t most_shown = 50;

EmulationEvent event_of(std::string_view line) {
    const auto json = Json::parse(line, nullptr, false);
    EmulationEvent event;
    event.kind = "finding";
    event.text = line;
    if (!json.is_object()) return event;
    event.details = json;
    try {
        event.program = json.at("program").get<std::string>();
        event.pid = json.at("pid").get<long>();
        event.kernel = json.at("kernel").get<std::string>();
        event.text = json.at("text").get<std::string>();
        event.kind = json.at("kind").get<std::string>();
        event.count = json.value("count", std::size_t{1});
    } catch (const Json::exception&) {
        event.text = line;
    }
    return event;
}

/// Where in the code it is: findings of one headline and one place have one cause.
std::pair<Json, Json> places_in_code(const EmulationEvent& event) {
    return {event.details.value("stack", Json::array()),
            event.details.value("earlier", Json::array())};
}

void add_to(std::vector<EmulationEvent>& events, EmulationEvent event) {
    const auto same = std::ranges::find_if(events, [&](const EmulationEvent& other) {
        return other.pid == event.pid && other.kernel == event.kernel &&
               other.headline() == event.headline() &&
               places_in_code(other) == places_in_code(event);
    });
    if (same != events.end()) {
        same->count += event.count;
    } else {
        events.push_back(std::move(event));
    }
}

std::string list_text(const std::vector<EmulationEvent>& events, bool facts = true) {
    std::string text;
    for (std::size_t i = 0; i < std::min(events.size(), most_shown); ++i) {
        const EmulationEvent& event = events[i];
        std::string shown(facts ? std::string_view(event.text) : event.headline());
        for (auto at = shown.find('\n'); at != std::string::npos; at = shown.find('\n', at + 1))
            shown.insert(at + 1, "  ");
        text += fmt::format("  {}\n    process: {} ({})\n", shown, event.program, event.pid);
        if (shown.size() < event.text.size() && !facts)
            text += "    facts: in the software device's log above\n";
        if (event.count > 1) text += fmt::format("    count: {} times\n", event.count);
    }
    if (events.size() > most_shown)
        text += fmt::format("  and {} more; --json=FILE lists all.\n", events.size() - most_shown);
    return text;
}

Json list_json(const std::vector<EmulationEvent>& events) {
    Json list = Json::array();
    for (const EmulationEvent& event : events) {
        list.push_back({{"kind", event.kind},
                        {"program", event.program},
                        {"pid", event.pid},
                        {"kernel", event.kernel},
                        {"text", event.text},
                        {"count", event.count}});
    }
    return list;
}

}  // namespace

std::string_view EmulationEvent::headline() const noexcept {
    return std::string_view(text).substr(0, text.find('\n'));
}

std::vector<std::string> EmulationEvent::facts() const {
    std::vector<std::string> facts;
    for (auto at = text.find('\n'); at != std::string::npos;) {
        const auto end = text.find('\n', at + 1);
        const auto line = text.substr(at + 1, end - at - 1);
        facts.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
        at = end;
    }
    return facts;
}

EmulationReport EmulationReport::read(std::string_view journal) {
    EmulationReport report;
    while (!journal.empty()) {
        const auto end = std::min(journal.find('\n'), journal.size());
        auto event = event_of(journal.substr(0, end));
        journal.remove_prefix(std::min(end + 1, journal.size()));
        if (event.kind == "children") {
            report.child_launches += std::strtoull(event.text.c_str(), nullptr, 10);
            continue;
        }
        auto& list = event.kind == "process"                          ? report.processes
                     : event.kind == "refusal" || event.kind == "cut" ? report.refusals
                     : event.kind == "unusable"                       ? report.unusable
                     : event.kind == "benign"                         ? report.benign
                                                                      : report.findings;
        add_to(list, std::move(event));
    }
    // At its end, a process says which of its refusals it couldn't do without.
    std::erase_if(report.refusals, [&](const EmulationEvent& event) {
        return std::ranges::any_of(report.unusable, [&](const EmulationEvent& other) {
            return other.pid == event.pid && other.text == event.text;
        });
    });
    return report;
}

std::string EmulationReport::text(bool facts) const {
    if (is_unused()) return "lode: No process has used the software device.\n";
    std::string text;
    if (!unusable.empty()) {
        text += fmt::format("lode: The software device can't run {}:\n",
                            counted(unusable.size(), "thing", "things"));
        text += list_text(unusable);
    }
    if (!refusals.empty()) {
        text += fmt::format("lode: The software device has refused {}:\n",
                            counted(refusals.size(), "thing", "things"));
        text += list_text(refusals);
    }
    if (child_launches != 0)
        text += fmt::format("lode: Kernels have launched {}.\n",
                            counted(child_launches, "kernel", "kernels"));
    const auto in_processes = counted(processes.size(), "process", "processes");
    if (findings.empty() && !unusable.empty()) return text;
    if (findings.empty()) return text + fmt::format("lode: No findings in {}.\n", in_processes);
    text += fmt::format("lode: {} in {}:\n", counted(findings.size(), "finding", "findings"),
                        in_processes);
    text += list_text(findings, facts);
    const auto lacks_lines = [](const EmulationEvent& event) {
        return event.details.contains("ptx_line") &&
               event.details.value("stack", Json::array()).empty();
    };
    if (std::ranges::any_of(findings, lacks_lines))
        text += "  For source lines, compile with --line-info (lode) or -lineinfo (nvcc, NVRTC).\n";
    return text;
}

Json EmulationReport::json() const {
    return {{"processes", list_json(processes)}, {"findings", list_json(findings)},
            {"refusals", list_json(refusals)},   {"unusable", list_json(unusable)},
            {"benign", list_json(benign)},       {"child_launches", child_launches}};
}

}  // namespace lode::tool
