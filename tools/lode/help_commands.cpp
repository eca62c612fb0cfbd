// `--help`, `lode completion` and `lode help --man`: what the declared commands and options are.
#include "base/try.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/completion.hpp"
#include "tools/lode/help_page.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/man_page.hpp"
#include "tools/lode/output.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

/// A line for a shell that shows what a command is for.
struct Example {
    std::string_view command;
    std::string_view line;
};

/// A test runs all of them but those of `lode bench`.
constexpr Example examples[] = {
    {"lode", "lode run saxpy.cu saxpy --cover 1024 -- 2f f32[1024]:iota f32[1024]:ones 1024"},
    {"lode run", "lode run saxpy.cu saxpy --cover 1024 -- 2f f32[1024]:iota f32[1024]:ones 1024"},
    {"lode run", "lode run scale.cu \"scale<float>\" --grid 4 -- f32[1024]:ones"},
    {"lode compile", "lode compile saxpy.cu --arch sm_90"},
    {"lode compile", "lode compile saxpy.cu --arch sm_90 --report"},
    {"lode link", "lode link main.sm_90.cubin twice.sm_90.cubin -o app.cubin"},
    {"lode init", "lode init my-app"},
    {"lode variants", "lode variants reduce"},
    {"lode variants", "lode variants --cc 8.0"},
    {"lode cache", "lode cache stats"},
    {"lode cache", "lode cache why saxpy.cu --arch sm_90"},
    {"lode cache stats", "lode cache stats"},
    {"lode cache list", "lode cache list"},
    {"lode cache show", "lode cache show 4b5f6d4d"},
    {"lode cache verify", "lode cache verify --repair"},
    {"lode cache gc", "lode cache gc --max-bytes 1GB"},
    {"lode cache clear", "lode cache clear --folder old-cache"},
    {"lode cache pack", "lode cache pack -o app.pack"},
    {"lode cache unpack", "lode cache unpack app.pack"},
    {"lode cache merge", "lode cache merge one.pack two.pack -o all.pack"},
    {"lode cache diff", "lode cache diff old.pack new.pack"},
    {"lode cache keygen", "lode cache keygen release"},
    {"lode cache sign", "lode cache sign --key release"},
    {"lode cache why", "lode cache why saxpy.cu --arch sm_90"},
    {"lode cached", "lode cached --stats -- lode emulate -- ./app"},
    {"lode cached", "lode cached --drop-in nvrtc"},
    {"lode warm", "lode warm app.jsonl --arch sm_90 --pack app.pack"},
    {"lode warm", "lode warm app.jsonl --arch sm_90 --check"},
    {"lode debug", "lode debug -- ./app"},
    {"lode emulate", "lode emulate -- ./app"},
    {"lode emulate", "lode emulate --check memory,race --findings findings.sarif -- ./app"},
    {"lode bench", "lode bench --short --html bench.html"},
    {"lode bench", "lode bench launch_overhead"},
    {"lode info", "lode info"},
    {"lode info", "lode info --kernels saxpy.cu --arch sm_90"},
    {"lode doctor", "lode doctor app.jsonl"},
    {"lode completion", "eval \"$(lode completion bash)\""},
};

OptionRow row_of(const CLI::Option& option) {
    OptionRow row;
    row.meaning = option.get_description();
    row.group = option.get_group();
    row.is_required = option.get_required();
    row.repeats = option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
    if (option.get_positional()) {
        row.names.push_back(option.get_name(true));
        return row;
    }
    for (const auto& name : option.get_snames())
        row.names.push_back("-" + name);
    for (const auto& name : option.get_lnames())
        row.names.push_back("--" + name);
    row.value = option.get_type_name();
    row.fallback = option.get_default_str();
    return row;
}

CommandRow table_of(const CLI::App& app, const std::string& around) {
    CommandRow row;
    row.name = around + app.get_name();
    row.meaning = app.get_description();
    row.group = app.get_group();
    row.footer = app.get_footer();
    if (row.meaning.ends_with('.')) row.meaning.pop_back();
    for (const auto& [command, line] : examples)
        if (command == row.name) row.examples.emplace_back(line);
    for (const auto* option : app.get_options())
        (option->get_positional() ? row.arguments : row.options).push_back(row_of(*option));
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!command->get_group().empty())
            row.commands.push_back(table_of(*command, row.name + " "));
    return row;
}

Result<Answer> print_page(const CommandRow& program, const std::string& name) {
    if (name.empty()) return Answer{man_page(program, program, LODE_VERSION)};
    for (const auto& command : program.commands)
        if (command.last_name() == name) return Answer{man_page(command, program, LODE_VERSION)};
    return fail(Errc::invalid_argument, fmt::format("There is no command '{}'.", name));
}

}  // namespace

std::string help_text(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    const bool is_nested = parent != nullptr && parent->get_parent() != nullptr;
    CommandRow row = table_of(app, parent == nullptr ? "" : full_name(*parent) + " ");
    if (is_nested) {
        for (OptionRow& option : table_of(*parent, "").options) {
            if (option.names.back() == "--help") continue;
            option.group = fmt::format("Options of {}", full_name(*parent));
            row.options.push_back(std::move(option));
        }
    }
    constexpr std::size_t usual_width = 80;
    constexpr std::size_t most = 100;  // Longer lines are hard to read.
    const std::size_t width = text_width(STDOUT_FILENO);
    return help_page(row, width == any_width ? usual_width : std::min(width, most));
}

Command declare_completion(CLI::App& app) {
    auto* command =
        app.add_subcommand("completion", "Print a shell's completions of this command line");
    const auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
    return {command, [shell, &app]() -> Result<Work> {
                LODE_TRY_ASSIGN(auto script, completion_script(*shell, table_of(app, "")));
                return [script = std::move(script)]() -> Result<Answer> {
                    Answer answer{script};
                    answer.fields = {{"script", script}};
                    return answer;
                };
            }};
}

Command declare_man(CLI::App& app) {
    auto* command = app.add_subcommand("man", "Print a manual page as troff")->group("");
    const auto name = std::make_shared<std::string>();
    command->add_option("COMMAND", *name, "The command. Default: lode itself")->type_name("");
    return {command, [name, &app]() -> Result<Work> {
                LODE_TRY_ASSIGN(auto answer, print_page(table_of(app, ""), *name));
                answer.fields = {{"page", answer.text}};
                return [answer = std::move(answer)]() -> Result<Answer> { return answer; };
            }};
}

}  // namespace lode::tool
