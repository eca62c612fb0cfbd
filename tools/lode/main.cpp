// The `lode` command: parses, runs one subcommand, prints its answer or its error.
#include "tools/lode/color.hpp"
#include "tools/lode/command_line.hpp"
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
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

constexpr std::string_view bad_usage = "bad_usage";

/// Prints one outcome, as text or as JSON.
class Printer {
public:
    Printer(std::string_view command, bool json, CompilerLog log = CompilerLog::whole)
        : command_(command), json_(json), log_(log) {}

    [[nodiscard]] int answer(Answer answer) const {
        const Colors colors = colors_of(STDERR_FILENO);
        if (answer.failure) answer.failure = in_command_words(*std::move(answer.failure));
        write_stderr(colors.log(answer.notes));
        const int code =
            print(json_ ? dump(answer_json(command_, answer, warnings())) : answer.text);
        if (!answer.failure) return answer.exit_code.value_or(code);
        write_stderr(error_text(*answer.failure, log_, colors));
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
    void say(std::string_view code, const Error& api_error) const {
        const Error error = in_command_words(api_error);
        write_stderr(error_text(error, log_, colors_of(STDERR_FILENO)));
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

int run(int argc, char** argv) {
    CLI::App app("CUDA source to running kernels: inspect, compile, run.", "lode");
    app.set_version_flag("-V,--version", "lode " LODE_VERSION);
    app.require_subcommand(1);
    app.get_formatter()->column_width(36);

    const std::span arguments(argv, static_cast<std::size_t>(argc));
    bool json = asks_for_json(arguments);
    std::array commands = {declare_info(app),    declare_init(app),  declare_compile(app),
                           declare_link(app),    declare_run(app),   declare_variants(app),
                           declare_cache(app),   declare_warm(app),  declare_doctor(app),
                           declare_emulate(app), declare_bench(app), declare_completion(app),
                           declare_man(app)};
    bool whole_log = false;
    std::string color = "auto";
    const auto add_color = [&](CLI::App& to) {
        to.add_option("--color", color, "Colours: auto (on terminals), always or never")
            ->type_name("WHEN")
            ->capture_default_str();
    };
    add_color(app);
    for (auto& command : commands) {
        add_color(*command.app);
        if (command.prints_json)
            command.app->add_flag("--json", json, "Print one JSON object instead of text");
        if (command.compiles)
            command.app->add_flag("--log", whole_log,
                                  "Print the compiler's whole log if the source doesn't compile");
    }
    const auto chosen = [&]() -> const Command* {
        const auto* found = std::ranges::find_if(
            commands, [](const Command& command) { return command.app->parsed(); });
        return found == commands.end() ? nullptr : found;
    };
    unmark_arguments(app);
    const auto words = words_of(arguments, app);
    if (const auto mode = parse_color_mode(color_option(words))) set_color_mode(*mode);
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
        json = json && (command == nullptr || command->prints_json);
        const Printer printer(command == nullptr ? "" : command->app->get_name(), json);
        if (command != nullptr && !has_unknown_option(error, app)) {
            if (const auto missing = missing_input(command->inputs))
                return printer.failure(*missing);
        }
        return printer.usage(
            usage_error(error, app, command == nullptr ? nullptr : command->app, words));
    }

    const auto* command = chosen();
    json = json && command->prints_json;
    const Printer printer(command->app->get_name(), json,
                          whole_log ? CompilerLog::whole : CompilerLog::first_errors);
    const auto mode = parse_color_mode(color);
    if (!mode) return printer.usage(mode.error());
    set_color_mode(*mode);
    if (const auto missing = missing_input(command->inputs)) return printer.failure(*missing);
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
