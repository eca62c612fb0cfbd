// The `lode` command: parses, runs one subcommand, prints its answer or its error.
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
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::string_view bad_usage = "bad_usage";

/// Prints one outcome, as text or as JSON.
class Printer {
public:
    Printer(std::string_view command, bool json) : command_(command), json_(json) {}

    [[nodiscard]] int answer(const Answer& answer) const {
        write_stderr(answer.notes);
        const int code =
            print(json_ ? dump(answer_json(command_, answer, warnings())) : answer.text);
        if (!answer.failure) return answer.exit_code.value_or(code);
        write_stderr(error_text(*answer.failure));
        return answer.exit_code.value_or(exit_failed);
    }
    [[nodiscard]] int failure(const Error& error) const {
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
    void say(std::string_view code, const Error& error) const {
        write_stderr(error_text(error));
        if (!json_) return;
        Json json = failure_json(command_, code, error, warnings());
        if (const auto found = findings()) json["findings"] = *found;
        const int problem = write_stdout(dump(json));
        if (problem != 0 && problem != EPIPE) complain(problem);
    }
    static void complain(int problem) {
        write_stderr(fmt::format("lode: The output can't be written to stdout: {}.\n",
                                 std::generic_category().message(problem)));
    }

    std::string command_;
    bool json_;
};

/// Whether --json is among the options: for errors of a command line that can't be parsed.
bool asks_for_json(std::span<char*> arguments) {
    const auto end = std::ranges::find(arguments, std::string_view("--"));
    return std::find(arguments.begin(), end, std::string_view("--json")) != end;
}

/// A mark in front of every word after "--", so that CLI11 treats it only as an argument. Without
/// the mark, CLI11 2.1 reads "-- --help" as an option of the main command if the subcommand has no
/// argument left to fill.
constexpr char is_argument = '\x1f';

/// The command line without the program's name, in reverse order, as CLI11 expects it.
std::vector<std::string> words_of(std::span<char*> arguments) {
    std::vector<std::string> words;
    bool behind = false;
    for (const std::string_view word :
         arguments.subspan(std::min<std::size_t>(1, arguments.size()))) {
        const bool marked = behind || word.starts_with(is_argument);
        words.push_back(marked ? is_argument + std::string(word) : std::string(word));
        behind = behind || word == "--";
    }
    std::ranges::reverse(words);
    return words;
}

/// Removes the mark from the values of every option and argument.
void keep_behind_dashes(CLI::App& app) {
    for (auto* option : app.get_options()) {
        option->transform(CLI::Validator(
            [](std::string& value) {
                if (value.starts_with(is_argument)) value.erase(0, 1);
                return std::string();
            },
            ""));
    }
    for (auto* command : app.get_subcommands([](CLI::App*) { return true; }))
        keep_behind_dashes(*command);
}

/// CLI11's message, without the marks.
std::string text_of(const CLI::ParseError& error) {
    std::string text = error.what();
    std::erase(text, is_argument);
    return text;
}

/// The error for a command line that CLI11 rejects; `command` is null if none was recognised.
Error usage_error(const CLI::ParseError& error, const Command* command,
                  std::span<char*> arguments) {
    if (command != nullptr) {
        return {Errc::invalid_argument, fmt::format("{}. `lode {} --help` shows its usage.",
                                                    text_of(error), command->app->get_name())};
    }
    const std::string_view word = arguments.size() > 1 ? arguments[1] : "";
    return {Errc::invalid_argument,
            fmt::format("{} The commands are info, compile, run, variants, cache, warm, doctor and "
                        "emulate; `lode --help` describes them.",
                        word.empty() ? "A command is needed."
                                     : fmt::format("There is no command '{}'.", word))};
}

/// Runs the work; turns exhausted memory into an ordinary failure.
Result<Answer> guarded(const Work& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail(Errc::out_of_memory, "The host's memory is exhausted.");
    }
}

int run(int argc, char** argv) {
    CLI::App app("CUDA source to running kernels: inspect, compile, run.", "lode");
    app.set_version_flag("--version", "lode " LODE_VERSION);
    app.require_subcommand(1);
    app.get_formatter()->column_width(36);

    const std::span arguments(argv, static_cast<std::size_t>(argc));
    bool json = asks_for_json(arguments);
    std::array commands = {declare_info(app),     declare_compile(app), declare_run(app),
                           declare_variants(app), declare_cache(app),   declare_warm(app),
                           declare_doctor(app),   declare_emulate(app)};
    for (auto& command : commands) {
        if (!command.prints_json) continue;
        command.app->add_flag("--json", json, "Print one JSON object instead of text");
    }
    const auto chosen = [&]() -> const Command* {
        const auto* found = std::ranges::find_if(
            commands, [](const Command& command) { return command.app->parsed(); });
        return found == commands.end() ? nullptr : found;
    };
    keep_behind_dashes(app);
    try {
        app.parse(words_of(arguments));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            std::ostringstream help;  // Or the version.
            app.exit(error, help, help);
            return Printer::print(help.str());
        }
        const auto* command = chosen();
        json = json && (command == nullptr || command->prints_json);
        return Printer(command == nullptr ? "" : command->app->get_name(), json)
            .usage(usage_error(error, command, arguments));
    }

    const auto* command = chosen();
    json = json && command->prints_json;
    const Printer printer(command->app->get_name(), json);
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
