// `lode bench`: runs scripts/report, which measures lode on this machine, with the options given.
#include "base/file.hpp"
#include "base/shared_library.hpp"
#include "base/try.hpp"
#include "tools/lode/child_process.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/result_file.hpp"

#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

namespace lode::tool {
namespace {

namespace fs = std::filesystem;

struct BenchCommand {
    std::string programs;
    std::string json;
    std::string html;
    std::string compare;
    std::uint32_t limit = 0;
    bool is_short = false;
    bool list = false;
    std::vector<std::string> names;
};

/// The first of these paths, relative to the command's folder, that exists; empty if none does. The
/// first is where an installation has it, the second where a build has it.
fs::path beside_command(std::initializer_list<const char*> candidates) {
    const auto here = executable_folder();
    for (const auto* candidate : candidates) {
        std::error_code problem;
        auto found = fs::canonical(here / candidate, problem);
        if (!problem) return found;
    }
    return {};
}

Result<std::vector<std::string>> call_of(const BenchCommand& values) {
    const auto script = beside_command({"../share/lode/scripts/report", "../../scripts/report"});
    if (script.empty()) {
        return fail(Errc::not_found,
                    fmt::format("The script that measures isn't installed: there is no "
                                "share/lode/scripts/report beside {}. It comes with lode's sources "
                                "and with the package of the tools.",
                                executable_folder().string()));
    }
    fs::path programs = values.programs;
    if (programs.empty()) programs = beside_command({"../libexec/lode/bench", "../../bench"});
    if (programs.empty()) {
        return fail(Errc::not_found,
                    "The benchmarks aren't installed. Build lode with -DLODE_BENCH=ON, and name "
                    "the folder build/release/bench with --programs.");
    }
    std::vector<std::string> call{"python3", script.string(), "--programs", programs.string()};
    const auto add = [&](const char* option, const std::string& value) {
        if (value.empty()) return;
        call.emplace_back(option);
        call.push_back(value);
    };
    add("--compare", values.compare);
    if (values.limit > 0) add("--limit", fmt::format("{}", values.limit));
    if (values.is_short) call.emplace_back("--short");
    if (values.list) call.emplace_back("--list");
    call.insert(call.end(), values.names.begin(), values.names.end());
    return call;
}

Result<Answer> bench(const BenchCommand& values) {
    const HeldSignals signals;
    LODE_TRY_ASSIGN(auto call, call_of(values));
    struct Written {
        MemoryFile from;
        std::string to;
    };
    std::vector<Written> results;
    for (const auto& [option, file] :
         {std::pair("--json", values.json), std::pair("--html", values.html)}) {
        if (file.empty()) continue;
        std::string name = file;
        if (option != std::string_view("--json") || file != json_to_stdout) {
            LODE_TRY_ASSIGN(auto memory, make_memory_file());
            name = memory.path.string();
            results.push_back({std::move(memory), file});
        }
        call.push_back(fmt::format("{}={}", option, name));
    }
    const ChildEnd end = run_child(call, {});
    if (end.start_error != 0) {
        return fail(Errc::not_found,
                    fmt::format("The script needs python3, which can't be started: {}.",
                                std::generic_category().message(end.start_error)));
    }
    for (const auto& [from, to] : results) {
        LODE_TRY_ASSIGN(const auto text, read_text(from.path));
        if (!text.empty()) LODE_TRY(write_result(to, text));
    }
    Answer answer;
    answer.exit_code = end.exit_code;
    return answer;
}

}  // namespace

Command declare_bench(CLI::App& app) {
    auto* command =
        app.add_subcommand("bench", "Measure lode on this machine and make one page of it");
    const auto values = std::make_shared<BenchCommand>();
    command
        ->add_option("NAME", values->names,
                     "What to measure: launch_overhead, kernels, experiment:overlap, ...; "
                     "otherwise everything")
        ->type_name("");
    command->add_option("--programs", values->programs, "The folder of the benchmarks")
        ->type_name("DIR");
    const auto* json = command
                           ->add_flag(fmt::format("--json{{{}}}", json_to_stdout), values->json,
                                      "Print the figures as JSON; with =FILE, write them to a file")
                           ->type_name("[=FILE]");
    const auto* html =
        command->add_option("--html", values->html, "Write the page to a file")->type_name("FILE");
    const auto* earlier = command
                              ->add_option("--compare", values->compare,
                                           "Say what is faster or slower than in an earlier --json")
                              ->type_name("FILE");
    command->add_option("--limit", values->limit, "Leave out what would begin after this time")
        ->type_name("SECONDS")
        ->transform(whole_number(1, 86400, " of seconds"));
    command->add_flag("--short", values->is_short, "Measure with fewer rounds");
    command->add_flag("--list", values->list, "Print what would be measured, and end");
    return {command,   [values]() -> Result<Work> { return [values] { return bench(*values); }; },
            false,     false,
            {earlier}, {json, html}};
}

}  // namespace lode::tool
