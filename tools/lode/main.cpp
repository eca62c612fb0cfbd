// The `lode` command: parses, runs one subcommand, prints its answer or its error.
#include "base/file.hpp"
#include "tools/lode/color.hpp"
#include "tools/lode/command_line.hpp"
#include "tools/lode/command_table.hpp"
#include "tools/lode/command_words.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/output.hpp"
#include "tools/lode/report.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

constexpr std::string_view bad_usage = "bad_usage";
const std::string common(common_options);
/// Where the documents are.
constexpr std::string_view documents =
    sizeof(LODE_SITE_URL) > 1 ? LODE_SITE_URL : "docs/start.md in lode's sources";

/// Prints one outcome: as text, and where --json says so as JSON.
class Printer {
public:
    Printer(std::string_view command, std::string json, CompilerLog log = CompilerLog::whole)
        : command_(command), json_(std::move(json)), log_(log) {}

    [[nodiscard]] int answer(Answer answer) const {
        const Colors colors = colors_of(STDERR_FILENO);
        if (answer.failure) answer.failure = in_command_words(*std::move(answer.failure));
        write_stderr(colors.log(answer.notes));
        const bool text_written = json_ == json_to_stdout || print(answer.text) == exit_fine;
        const bool is_written =
            json_.empty() || write_json(answer_json(command_, answer, warnings()));
        const int code = text_written && is_written ? exit_fine : exit_failed;
        if (!answer.failure) return std::max(answer.exit_code.value_or(exit_fine), code);
        write_stderr(error_text(*answer.failure, log_, colors, text_width(STDERR_FILENO)));
        return answer.exit_code.value_or(exit_failed);
    }
    [[nodiscard]] int failure(const Error& error) const {
        // A wrong value that only the work can notice, such as that of a variable.
        if (error.code == Errc::invalid_argument) return usage(error);
        say(to_string(error.code), error);
        return exit_failed;
    }
    [[nodiscard]] int usage(const Error& error) const {
        say(bad_usage, error);
        return exit_bad_usage;
    }
    /// Prints an answer's text unchanged.
    [[nodiscard]] static int print(std::string_view text) {
        const int problem = write_stdout(text);
        if (problem == 0) return exit_fine;
        if (problem == EPIPE) end_quietly();
        complain(problem);
        return exit_failed;
    }

private:
    void say(std::string_view code, const Error& api_error) const {
        const Error error = in_command_words(api_error);
        write_stderr(error_text(error, log_, colors_of(STDERR_FILENO), text_width(STDERR_FILENO)));
        if (json_.empty()) return;
        Json json = failure_json(command_, code, error, warnings());
        if (const auto found = findings()) json["findings"] = *found;
        if (json_ != json_to_stdout) return static_cast<void>(write_json(json));
        const int problem = write_stdout(dump(json));
        if (problem != 0 && problem != EPIPE) complain(problem);
    }
    [[nodiscard]] bool write_json(const Json& json) const {
        if (json_ == json_to_stdout) return print(dump(json)) == exit_fine;
        const auto status = write_result(json_, dump(json));
        if (!status) write_stderr(error_text(status.error()));
        return status.has_value();
    }
    static void complain(int problem) {
        write_stderr(fmt::format("lode: The output can't be written to stdout: {}.\n",
                                 std::generic_category().message(problem)));
    }

    std::string command_;
    std::string json_;  ///< json_to_stdout, a file, or empty for none.
    CompilerLog log_;
};

/// Runs the work; turns exhausted memory into an ordinary failure.
Result<Answer> guarded(const Work& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail(Errc::out_of_memory, "The host's memory is exhausted.");
    }
}

/// Gives --help of every command its heading.
void describe_help(CLI::App& app) {
    app.get_help_ptr()->description("Print this help and exit")->group(common);
    for (auto* command : app.get_subcommands([](CLI::App*) { return true; }))
        describe_help(*command);
}

int run(int argc, char** argv) {
    CLI::App app("CUDA C++ or PTX source into running kernels, on a GPU or without one", "lode");
    app.formatter_fn([](const CLI::App* command, const std::string& /*name*/,
                        CLI::AppFormatMode /*mode*/) { return help_text(*command); });
    app.set_version_flag("-V,--version", "lode " LODE_VERSION, "Print the version and exit")
        ->group(common);
    app.footer(
        fmt::format("`lode COMMAND --help` shows the options and examples of a command.\n"
                    "Documents: {}",
                    documents));
    app.require_subcommand(1);

    const std::span arguments(argv, static_cast<std::size_t>(argc));
    std::string json = asks_for_json(arguments) ? json_to_stdout : "";
    /// In the order of `lode --help`.
    struct Group {
        const char* title;
        std::vector<Command> commands;
    };
    std::array groups = {
        Group{"Run and compile",
              {declare_run(app), declare_compile(app), declare_link(app), declare_init(app)}},
        Group{"Cache", {declare_cache(app), declare_cached(app), declare_warm(app)}},
        Group{
            "Check and measure",
            {declare_emulate(app), declare_debug(app), declare_variants(app), declare_bench(app)}},
        Group{"This machine and its shell",
              {declare_info(app), declare_doctor(app), declare_completion(app)}},
        Group{"", {declare_man(app)}}};
    std::vector<Command> commands;
    bool whole_log = false;
    std::string color = "auto";
    const auto add_color = [&](CLI::App& to) {
        to.add_option("--color", color, "Use colours: auto (default), always or never")
            ->type_name("WHEN")
            ->group(common);
    };
    add_color(app);
    for (auto& [title, declared] : groups) {
        for (auto& command : declared) {
            command.app->group(title);
            for (auto* inner : command.app->get_subcommands([](CLI::App*) { return true; }))
                inner->group("Commands");
            add_color(*command.app);
            if (command.prints_json) {
                auto* option =
                    command.app->add_flag(fmt::format("--json{{{}}}", json_to_stdout), json,
                                          "Print one JSON object instead of text; with =FILE, "
                                          "write it to a file beside the text");
                option->type_name("[=FILE]")->group(common);
                command.results.push_back(option);
            }
            if (command.compiles) {
                command.app
                    ->add_flag("--log", whole_log,
                               "Print the compiler's whole log if the source doesn't compile")
                    ->group(common);
            }
            commands.push_back(std::move(command));
        }
    }
    const auto chosen = [&]() -> const Command* {
        const auto found = std::ranges::find_if(
            commands, [](const Command& command) { return command.app->parsed(); });
        return found == commands.end() ? nullptr : &*found;
    };
    const auto results_of = [](const Command& command) {
        return check_results(*command.app, command.results, command.inputs);
    };
    const auto printer_of = [&](const Command& command, const Status& writable) {
        const bool has_json = command.prints_json && (json == json_to_stdout || writable);
        return Printer(command.app->get_name(), has_json ? json : "",
                       whole_log ? CompilerLog::whole : CompilerLog::first_errors);
    };
    describe_help(app);
    unmark_arguments(app);
    const auto words = words_of(arguments, app);
    if (const auto mode = parse_color_mode(color_option(words))) set_color_mode(*mode);
    if (const auto status = check_words(app, words); !status)
        return Printer(words.front(), json).usage(status.error());
    try {
        std::vector<std::string> reversed(words.rbegin(), words.rend());  // As CLI11 wants them.
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            std::ostringstream help;  // Or the version.
            app.exit(error, help, help);
            return Printer::print(help.str());
        }
        const auto* command = chosen();
        const auto printer =
            command == nullptr ? Printer("", json) : printer_of(*command, results_of(*command));
        if (command != nullptr && !has_unknown_option(error, app)) {
            if (const auto missing = missing_input(command->inputs))
                return printer.failure(*missing);
        }
        return printer.usage(
            usage_error(error, app, command == nullptr ? nullptr : command->app, words));
    }

    const auto* command = chosen();
    const auto writable = results_of(*command);
    const auto printer = printer_of(*command, writable);
    const auto mode = parse_color_mode(color);
    if (!mode) return printer.usage(mode.error());
    set_color_mode(*mode);
    if (const auto missing = missing_input(command->inputs)) return printer.failure(*missing);
    if (!writable) return printer.usage(writable.error());
    const auto work = command->prepare();
    if (!work) return printer.usage(work.error());
    const auto answer = guarded(*work);
    return answer ? printer.answer(*answer) : printer.failure(answer.error());
}

}  // namespace
}  // namespace lode::tool

int main(int argc, char** argv) {
    lode::tool::prepare_streams();
    try {
        return lode::tool::run(argc, argv);
    } catch (const std::exception& error) {
        // Doesn't allocate: memory may be exhausted.
        lode::tool::write_stderr("lode: ");
        lode::tool::write_stderr(error.what());
        lode::tool::write_stderr("\n");
    } catch (...) {
        lode::tool::write_stderr("lode: An exception of an unknown type ends the command.\n");
    }
    return lode::tool::exit_failed;
}
