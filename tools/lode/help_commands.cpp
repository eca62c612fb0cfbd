// `lode completion` and `lode help --man`: what the declared commands and options are, for shells
// and for man.
#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/completion.hpp"
#include "tools/lode/man_page.hpp"

#include <memory>

#include <fmt/format.h>

namespace lode::tool {
namespace {

OptionRow row_of(const CLI::Option& option) {
    OptionRow row;
    row.meaning = option.get_description();
    row.group = option.get_group();
    row.is_required = option.get_required();
    if (option.get_positional()) {
        row.names.push_back(option.get_name(true));
        return row;
    }
    for (const auto& name : option.get_snames())
        row.names.push_back("-" + name);
    for (const auto& name : option.get_lnames())
        row.names.push_back("--" + name);
    if (option.get_items_expected_max() > 0) row.value = option.get_type_name();
    return row;
}

CommandRow table_of(const CLI::App& app, const std::string& around) {
    CommandRow row;
    row.name = around + app.get_name();
    row.meaning = app.get_description();
    row.footer = app.get_footer();
    if (row.meaning.ends_with('.')) row.meaning.pop_back();
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

Command declare_completion(CLI::App& app) {
    auto* command =
        app.add_subcommand("completion", "Print the completions of this command line for a shell");
    const auto shell = std::make_shared<std::string>();
    command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
    command->footer("For bash: eval \"$(lode completion bash)\"");
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
