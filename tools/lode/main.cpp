// The `lode` command: parses, runs one subcommand, prints its answer or its error.
#include "tools/lode/commands.hpp"
#include "tools/lode/report.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::string_view bad_usage = "bad_usage";

/// Prints one outcome; knows whether people or programs are listening.
class Printer {
public:
    Printer(std::string_view command, bool json) : command_(command), json_(json) {}

    [[nodiscard]] int answer(const Answer& answer) const {
        fmt::print(stderr, "{}", answer.notes);
        const auto text = json_ ? dump(success_json(command_, answer)) : answer.text;
        const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
        if (written && std::fflush(stdout) == 0) return exit_fine;
        fmt::print(stderr, "lode: The answer can't be written to stdout: {}.\n",
                   std::generic_category().message(errno));
        return exit_failed;
    }
    [[nodiscard]] int failure(const Error& error) const {
        say(to_string(error.code), error);
        return exit_failed;
    }
    [[nodiscard]] int usage(const Error& error) const {
        say(bad_usage, error);
        return exit_bad_usage;
    }

private:
    void say(std::string_view code, const Error& error) const {
        fmt::print(stderr, "{}", error_text(error));
        if (json_) fmt::print("{}", dump(failure_json(command_, code, error)));
    }

    std::string command_;
    bool json_;
};

/// Whether --json stands among the options: for answers to a command line that can't be parsed.
bool asks_for_json(std::span<char*> arguments) {
    const auto end = std::ranges::find(arguments, std::string_view("--"));
    return std::find(arguments.begin(), end, std::string_view("--json")) != end;
}

/// The answer to a command line that CLI11 refuses; `command` is null when none was recognised.
Error usage_error(const CLI::ParseError& error, const Command* command,
                  std::span<char*> arguments) {
    if (command != nullptr) {
        return {Errc::invalid_argument, fmt::format("{}. `lode {} --help` lists what it takes.",
                                                    error.what(), command->app->get_name())};
    }
    const std::string_view word = arguments.size() > 1 ? arguments[1] : "";
    return {Errc::invalid_argument,
            fmt::format(
                "{} The commands are info, compile, run, variants and cache; `lode --help` says "
                "more.",
                word.empty() ? "A command is needed."
                             : fmt::format("There is no command '{}'.", word))};
}

/// Runs the work; exhausted memory is a failure like any other.
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
    std::array commands = {declare_info(app), declare_compile(app), declare_run(app),
                           declare_variants(app), declare_cache(app)};
    for (auto& command : commands) {
        command.app->add_flag("--json", json, "Print one JSON object instead of text");
    }
    const auto chosen = [&]() -> const Command* {
        const auto* found = std::ranges::find_if(
            commands, [](const Command& command) { return command.app->parsed(); });
        return found == commands.end() ? nullptr : found;
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            return app.exit(error);  // --help and --version: it prints them.
        }
        const auto* command = chosen();
        return Printer(command == nullptr ? "" : command->app->get_name(), json)
            .usage(usage_error(error, command, arguments));
    }

    const auto* command = chosen();
    const Printer printer(command->app->get_name(), json);
    const auto work = command->prepare();
    if (!work) return printer.usage(work.error());
    const auto answer = guarded(*work);
    return answer ? printer.answer(*answer) : printer.failure(answer.error());
}

}  // namespace
}  // namespace lode::tool

int main(int argc, char** argv) {
    try {
        return lode::tool::run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "lode: {}\n", error.what());
    }
    return lode::tool::exit_failed;
}
