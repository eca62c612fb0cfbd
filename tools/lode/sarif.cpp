#include "tools/lode/sarif.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::string_view schema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr std::string_view root_name = "SRCROOT";

struct Rule {
    std::string_view id, meaning, effect, cure;
};

/// The kinds of findings, as in the journal's member `check`. The last is for all others.
constexpr std::array<Rule, 15> rules = {{
    {"race",
     "Two threads access the same memory, at least one of them writes, and nothing orders "
     "the accesses.",
     "The result depends on which thread comes first, so it may differ between runs and GPUs.",
     "Put a __syncthreads() between the two accesses, or use atomics. Between blocks, use atomics "
     "or two launches."},
    {"benign-race", "Several threads store the same value without an order.",
     "Any order leaves the same value, so it is a note and no error.",
     "Leave it, or store with a relaxed atomic. Once the values differ, it is a race."},
    {"unwritten", "A kernel uses memory that nothing has written.",
     "The value is what the memory held before, which differs between runs.",
     "Copy to the memory or fill it before the launch, or let the kernel write it first."},
    {"member-masks", "Lanes of one warp operation have different member masks.",
     "The result of the operation is undefined.",
     "Compute one mask before the lanes part, for example by __ballot_sync, and pass it in each."},
    {"absent-lane", "A warp operation waits for, or reads from, a lane that doesn't take part.",
     "The value that it reads is undefined, or the warp waits forever.",
     "Pass a mask of lanes that all reach the operation, and read from these alone."},
    {"divergent-barrier", "Lanes of a warp wait at different barriers.",
     "On a GPU the block hangs, or threads go on before the others have arrived.",
     "Move the __syncthreads() to where all threads of the block reach it."},
    {"barrier-count", "A barrier is used with a wrong count of threads.",
     "The barrier opens too early or never.",
     "Pass the number of threads that arrive, a multiple of 32, and the same at each use."},
    {"mbarrier", "An mbarrier is used wrongly.",
     "It is used before or while it is initialised, or has more arrivals than it expects.",
     "Let one thread initialise it before a __syncthreads(), and count the arrivals of a phase."},
    {"proxy-fence",
     "An asynchronous operation reads shared memory that threads have written without a "
     "fence.proxy.async.",
     "The operation may read what the memory held before.",
     "Call fence.proxy.async after the writes, and then a barrier."},
    {"wgmma-wait", "Registers of a warpgroup's product are used before a wgmma.wait_group.",
     "The product runs on after its instruction, so the registers may have other values.",
     "Wait with wgmma.wait_group before the registers are read or written."},
    {"wgmma-fence",
     "A warpgroup's product uses registers without a wgmma.fence after their writes.",
     "The product may read what the registers held before.",
     "Put a wgmma.fence between the writes and the product."},
    {"unordered",
     "Two operations touch the same memory, and neither streams, events nor a graph's "
     "edges order them.",
     "The result depends on which operation comes first.",
     "Record an event after the first, and let the second's stream wait for it."},
    {"timeout", "A kernel has run too long.",
     "A loop may not end, or the problem is too large for the software device.",
     "The message says where the lanes stand. LODE_EMULATOR_TIMEOUT sets the time."},
    {"fault", "An error stops a kernel: a wrong address, a deadlock or another fault.",
     "On a GPU the context is unusable afterwards, or other memory is damaged.",
     "Compare the index and the size at the line of the finding."},
    {"finding", "The software device has found an error.", "The message has the details.",
     "The message says what to change."},
}};

std::size_t rule_of(std::string_view id) {
    const auto at = std::ranges::find(rules, id, &Rule::id);
    return static_cast<std::size_t>(std::min(at, rules.end() - 1) - rules.begin());
}

/// The path of a URI.
std::string escaped(std::string_view path) {
    constexpr std::string_view plain = "-._~/";
    std::string uri;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (is_letter || (byte >= '0' && byte <= '9') || plain.find(c) != plain.npos) {
            uri += c;
        } else {
            uri += fmt::format("%{:02X}", byte);
        }
    }
    return uri;
}

Json artifact(const std::string& file, const std::filesystem::path& root) {
    const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
    const auto relative = path.lexically_relative(root);
    const bool below = path.is_absolute() && !relative.empty() && *relative.begin() != "..";
    if (below) return {{"uri", escaped(relative.string())}, {"uriBaseId", root_name}};
    if (path.is_absolute()) return {{"uri", "file://" + escaped(path.string())}};
    return {{"uri", escaped(path.string())}};
}

Json physical(const std::string& file, int line, const std::filesystem::path& root) {
    Json place = {{"artifactLocation", artifact(file, root)}};
    if (line > 0) place["region"] = {{"startLine", line}};
    return {{"physicalLocation", std::move(place)}};
}

/// The place of an event without source lines: GitHub refuses a file in which a result has none.
Json place_without_lines(const EmulationEvent& event, const std::filesystem::path& root) {
    if (event.kernel.empty()) return physical(event.program.empty() ? "?" : event.program, 0, root);
    return physical(event.kernel + ".ptx", event.details.value("ptx_line", 0), root);
}

/// The physical locations of a stack: the line, then the calls that inlined it.
std::vector<Json> locations_of(const Json& stack, const std::filesystem::path& root) {
    std::vector<Json> all;
    if (!stack.is_array()) return all;
    for (const Json& place : stack)
        all.push_back(physical(place.value("file", "?"), place.value("line", 0), root));
    return all;
}

/// Adds locations with the words that say what they are.
void relate(Json& related, std::vector<Json> locations, std::string_view first,
            std::string_view others) {
    for (std::size_t k = 0; k < locations.size(); ++k) {
        locations[k]["id"] = related.size();
        locations[k]["message"] = {{"text", k == 0 && !first.empty() ? first : others}};
        related.push_back(std::move(locations[k]));
    }
}

Json result_of(const EmulationEvent& event, const std::filesystem::path& root) {
    const bool benign = event.kind == "benign";
    const Json& details = event.details;
    const std::string check = details.value("check", event.kind);
    const std::size_t rule = rule_of(check);
    Json result = {{"ruleId", rules[rule].id},
                   {"ruleIndex", rule},
                   {"level", benign ? "note" : "error"},
                   {"message", {{"text", event.headline()}}}};
    auto stack = locations_of(details.value("stack", Json::array()), root);
    Json location = stack.empty() ? place_without_lines(event, root) : stack.front();
    if (!event.kernel.empty())
        location["logicalLocations"] = {{{"name", event.kernel}, {"kind", "function"}}};
    result["locations"] = Json::array({std::move(location)});
    Json related = Json::array();
    relate(related, locations_of(details.value("earlier", Json::array()), root),
           "The earlier access.", "A call that the earlier access was inlined from.");
    if (!stack.empty()) stack.erase(stack.begin());
    relate(related, std::move(stack), "", "A call that the line was inlined from.");
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    result["occurrenceCount"] = event.count;
    Json properties = {{"program", event.program}, {"pid", event.pid}, {"details", event.facts()}};
    for (const auto& [from, to] : {std::pair{"thread", "thread"}, std::pair{"block", "block"},
                                   std::pair{"ptx_line", "ptxLine"}}) {
        if (details.contains(from)) properties[to] = details[from];
    }
    result["properties"] = std::move(properties);
    return result;
}

}  // namespace

Json sarif_of(const EmulationReport& report, std::string_view version,
              const std::filesystem::path& root) {
    Json driver = {{"name", "lode"}, {"version", version}, {"rules", Json::array()}};
    for (const Rule& rule : rules) {
        driver["rules"].push_back(
            {{"id", rule.id},
             {"shortDescription", {{"text", rule.meaning}}},
             {"fullDescription", {{"text", fmt::format("{} {}", rule.meaning, rule.effect)}}},
             {"help", {{"text", fmt::format("{} {}", rule.effect, rule.cure)}}}});
    }
    Json results = Json::array();
    for (const auto* const events : {&report.findings, &report.benign}) {
        for (const EmulationEvent& event : *events)
            results.push_back(result_of(event, root));
    }
    const std::string base = "file://" + escaped(root.string()) + "/";
    Json run = {{"tool", {{"driver", std::move(driver)}}},
                {"originalUriBaseIds", {{root_name, {{"uri", base}}}}},
                {"columnKind", "unicodeCodePoints"},
                {"results", std::move(results)}};
    Json runs = Json::array();
    runs.push_back(std::move(run));
    return {{"$schema", schema}, {"version", "2.1.0"}, {"runs", std::move(runs)}};
}

}  // namespace lode::tool
