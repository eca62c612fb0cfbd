// `lode variants`: lists the kernel families, which row each device gets and why, and tuned
// choices.
#include "base/message_text.hpp"
#include "base/quantity.hpp"
#include "lode_kernels/families.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/output.hpp"

#include <lode/base/environment.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode::tool {
namespace {

using kernels::FamilyEntry;

struct Options {
    std::vector<std::string> families;
    std::vector<std::string> capabilities;
    std::string problem;
    bool tune = false;
    bool choices = false;
    bool clear = false;
};

/// The parsed options.
struct VariantsRequest {
    std::vector<const FamilyEntry*> entries;
    std::vector<ComputeCapability> capabilities;
    std::optional<Problem> problem;
    bool all_families = true;
};

/// Parses "4096x4096x64"; missing extents are 1.
Result<Problem> problem_of(std::string_view text) {
    std::array<std::uint64_t, 3> extents{1, 1, 1};
    std::string_view rest = text;
    for (auto& extent : extents) {
        const auto x = rest.find('x');
        const auto count = parse_count(rest.substr(0, x));
        if (!count || *count == 0) break;
        extent = *count;
        if (x == std::string_view::npos) return Problem{extents[0], extents[1], extents[2]};
        rest.remove_prefix(x + 1);
    }
    return fail(Errc::invalid_argument,
                fmt::format("--problem is '{}'; it must be up to three numbers from 1, as in 4096, "
                            "4Ki or 64x128x32.",
                            text));
}

Result<VariantsRequest> request_of(const Options& options) {
    VariantsRequest request;
    for (const auto& name : options.families) {
        const auto* const entry = kernels::find(name);
        if (entry == nullptr) {
            return fail(Errc::invalid_argument, no_family_text(name));
        }
        if (std::ranges::find(request.entries, entry) == request.entries.end())
            request.entries.push_back(entry);
    }
    request.all_families = request.entries.empty();
    if (request.all_families) {
        for (const auto& entry : kernels::all())
            request.entries.push_back(&entry);
    }
    for (const auto& text : options.capabilities) {
        auto cc = parse_capability(text);
        if (!cc) return tl::unexpected(std::move(cc).error());
        if (std::ranges::find(request.capabilities, *cc) == request.capabilities.end())
            request.capabilities.push_back(*cc);
    }
    if (!options.problem.empty()) {
        auto problem = problem_of(options.problem);
        if (!problem) return tl::unexpected(std::move(problem).error());
        request.problem = *problem;
    }
    return request;
}

/// Adds one family's decision on one device to the answer.
void add_decision(Answer& answer, Json& list, const std::string& device, const FamilyEntry& entry,
                  const Result<VariantChoice>& choice) {
    const auto& family = entry.family;
    Section section(fmt::format("{} on {}", family.name, device));
    Json json = {{"family", family.name}, {"device", device}};
    Json steps = Json::array();
    if (choice) {
        section.row("takes", family.rows[choice->row].name);
        for (const auto& step : choice->steps) {
            section.row(step.taken ? "because" : "not " + step.rung, step.reason);
            steps.push_back({{"row", step.rung}, {"taken", step.taken}, {"reason", step.reason}});
        }
        json["row"] = family.rows[choice->row].name;
    } else {
        section.row("takes", "none");
        section.row("because", choice.error().message);
        json["row"] = nullptr;
        json["error"] = to_json(choice.error());
    }
    std::vector<std::string> rows;
    for (const auto& row : family.rows)
        rows.push_back(row.name);
    section.row("rows", fmt::format("{}", fmt::join(rows, ", ")));
    json["rows"] = rows;
    json["steps"] = std::move(steps);
    answer.text += section.to_string() + "\n";
    list.push_back(std::move(json));
}

/// The devices that the driver shows.
Result<std::vector<VariantLoader>> visible_devices() {
    if (auto known = check_forced_families(); !known)
        return tl::unexpected<Error>(std::move(known).error());
    const auto runtime = open_runtime();
    if (!runtime) {
        Error error = runtime.error();
        error.message +=
            "\nPass a compute capability with --cc to see which rows such a device would get.";
        return tl::unexpected(std::move(error));
    }
    auto devices = runtime->devices();
    if (!devices) return tl::unexpected(std::move(devices).error());
    if (devices->empty()) {
        return fail(Errc::no_device,
                    "The driver reports no device. Pass a compute capability with --cc to see "
                    "which rows such a device would get.");
    }
    std::vector<VariantLoader> loaders;
    for (auto& device : *devices)
        loaders.emplace_back(*runtime, std::move(device), warning_log());
    return loaders;
}

Result<Answer> show(const VariantsRequest& request) {
    Answer answer;
    Json list = Json::array();
    for (const auto cc : request.capabilities) {
        for (const auto* entry : request.entries) {
            add_decision(
                answer, list, fmt::format("a device of {} (assumed)", cc.to_string()), *entry,
                select(entry->family, assumed_device_properties(cc), {.problem = request.problem}));
        }
    }
    if (request.capabilities.empty()) {
        const auto loaders = visible_devices();
        if (!loaders) return tl::unexpected(loaders.error());
        for (const auto& loader : *loaders) {
            const auto name = fmt::format("device {} ({}, {})", loader.device().ordinal(),
                                          loader.device().name(), loader.device().cc().to_string());
            for (const auto* entry : request.entries) {
                VariantOptions options{.problem = request.problem};
                if (request.problem) options.problem_class = problem_class_of(*request.problem);
                add_decision(answer, list, name, *entry, loader.choose(entry->family, options));
            }
        }
    }
    answer.fields = {{"variants", std::move(list)}};
    return answer;
}

Result<TuneReport> tune_one(const VariantLoader& loader, const FamilyEntry& entry,
                            const Problem& problem) {
    const auto workload = entry.make(loader.device(), problem, std::random_device{}());
    if (!workload) return tl::unexpected(workload.error());
    return loader.tune(
        entry.family, {.variant = {.problem = problem, .problem_class = problem_class_of(problem)}},
        [&](const LoadedVariant& variant, StreamRef stream) {
            return (*workload)->launch(variant, stream);
        });
}

Result<Answer> tune(const VariantsRequest& request) {
    const auto loaders = visible_devices();
    if (!loaders) return tl::unexpected(loaders.error());
    Answer answer;
    Json list = Json::array();
    for (const auto& loader : *loaders) {
        for (const auto* entry : request.entries) {
            const auto problem = request.problem.value_or(entry->bench_problems.front());
            const auto report = tune_one(loader, *entry, problem);
            if (!report) return tl::unexpected(report.error());
            Section section(fmt::format("{} {} on {}", entry->family.name,
                                        problem_class_of(problem), loader.device().name()));
            section.row("fastest", report->choice.row);
            if (!report->kept) section.row("not kept", report->not_kept);
            Json rows = Json::array();
            for (const auto& row : report->rows) {
                section.row(row.name, row.problem.empty()
                                          ? fmt::format("{:.4f} ms", row.milliseconds)
                                          : row.problem);
                const bool measured = row.problem.empty();
                rows.push_back({{"row", row.name},
                                {"milliseconds", measured ? Json(row.milliseconds) : Json()},
                                {"problem", measured ? Json() : Json(row.problem)}});
            }
            answer.text += section.to_string() + "\n";
            list.push_back({{"family", entry->family.name},
                            {"device", loader.device().name()},
                            {"class", problem_class_of(problem)},
                            {"row", report->choice.row},
                            {"kept", report->kept},
                            {"not_kept", report->kept ? Json() : Json(report->not_kept)},
                            {"rows", std::move(rows)}});
        }
    }
    answer.fields = {{"tuned", std::move(list)}};
    return answer;
}

Result<Answer> list_choices(const VariantsRequest& request) {
    const TunedChoices choices;
    const auto is_asked_for = [&](const std::string& family) {
        return request.all_families || std::ranges::any_of(request.entries, [&](const auto* entry) {
                   return entry->family.name == family;
               });
    };
    Table table({{"family"}, {"device"}, {"driver"}, {"class"}, {"row"}, {"ms", Align::right}});
    Json list = Json::array();
    for (const auto& [key, row, milliseconds] : choices.list()) {
        if (!is_asked_for(key.family)) continue;
        table.row({key.family, key.device, cuda_version_text(key.driver_version), key.problem_class,
                   row, fmt::format("{:.4f}", milliseconds)});
        list.push_back({{"family", key.family},
                        {"device", key.device},
                        {"driver_version", key.driver_version},
                        {"class", key.problem_class},
                        {"row", row},
                        {"milliseconds", milliseconds}});
    }
    Answer answer;
    answer.text = list.empty()
                      ? fmt::format("No tuned choice is kept in {}.\n", choices.folder().string())
                      : table.to_string();
    answer.fields = {{"folder", choices.folder().string()}, {"choices", std::move(list)}};
    return answer;
}

Result<Answer> clear_choices(const VariantsRequest& request) {
    const TunedChoices choices;
    std::size_t removed = 0;
    std::vector<std::string> families{""};  // All families, including unknown ones.
    if (!request.all_families) {
        families.clear();
        for (const auto* entry : request.entries)
            families.push_back(entry->family.name);
    }
    for (const auto& family : families) {
        const auto count = choices.clear(family);
        if (!count) return tl::unexpected(count.error());
        removed += *count;
    }
    Answer answer;
    answer.text =
        fmt::format("Removed {} tuned choice(s) from {}.\n", removed, choices.folder().string());
    answer.fields = {{"folder", choices.folder().string()}, {"removed", removed}};
    return answer;
}

}  // namespace

std::string no_family_text(std::string_view name) {
    std::vector<std::string> names;
    for (const auto& known : kernels::all())
        names.push_back(known.family.name);
    return fmt::format("There is no kernel family '{}'. The families are: {}.", shortened(name),
                       fmt::join(names, ", "));
}

Status check_forced_families() {
    const auto in_variable = [](Error error) {
        return std::move(error).in("reading LODE_FORCE_VARIANT");
    };
    const auto rows = forced_rows(environment("LODE_FORCE_VARIANT").value_or(""));
    if (!rows) return tl::unexpected<Error>(in_variable(rows.error()));
    for (const auto& row : *rows) {
        if (kernels::find(row.family) == nullptr)
            return tl::unexpected<Error>(
                in_variable({Errc::not_found, no_family_text(row.family)}));
    }
    return {};
}

Command declare_variants(CLI::App& app) {
    auto* command =
        app.add_subcommand("variants", "Show the kernel families and each device's row; tune them");
    const auto options = std::make_shared<Options>();
    command->add_option("family", options->families, "Families to show. Default: all");
    auto* capability =
        command
            ->add_option(
                "--cc", options->capabilities,
                "Compute capabilities, separated by commas, to show instead of this machine's "
                "devices, e.g. 8.6,9.0. LODE_FORCE_VARIANT and tuned choices don't apply to them")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->type_name("X.Y");
    auto* problem = command
                        ->add_option("--problem", options->problem,
                                     "Leave out rows that can't handle this problem, e.g. "
                                     "4096x4096x64; with --tune: the problem to measure")
                        ->type_name("SIZE");
    auto* tuning = command->add_flag(
        "--tune", options->tune, "Measure the rows on this machine's devices and keep the fastest");
    auto* listing =
        command->add_flag("--choices", options->choices, "List the choices that tuning has kept");
    auto* clearing =
        command->add_flag("--clear", options->clear, "Remove the choices that tuning has kept");
    tuning->excludes(listing)->excludes(clearing)->excludes(capability);
    listing->excludes(clearing)->excludes(capability)->excludes(problem);
    clearing->excludes(capability)->excludes(problem);
    return {command, [options]() -> Result<Work> {
                auto request = request_of(*options);
                if (!request) return tl::unexpected(std::move(request).error());
                return Work([request = *std::move(request), options]() -> Result<Answer> {
                    if (options->choices) return list_choices(request);
                    if (options->clear) return clear_choices(request);
                    return options->tune ? tune(request) : show(request);
                });
            }};
}

}  // namespace lode::tool
