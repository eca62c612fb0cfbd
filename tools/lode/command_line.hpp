// The part of the command line that CLI11 gets to see, and the errors for what it rejects.
#pragma once

#include <lode/base/error.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace lode::tool {

/// "lode cache stats"
[[nodiscard]] std::string full_name(const CLI::App& command);

/// Whether --json is among the options: for errors of a command line that can't be parsed.
bool asks_for_json(std::span<char*> arguments);

/// What --color says among words_of(): for errors of a command line that can't be parsed. Empty if
/// it says nothing.
[[nodiscard]] std::string color_option(std::span<const std::string> words);

/// The words of the command line without the program's name, as `app` is to parse them: `help X`
/// becomes `X --help`; with a word too many, check_words() refuses the result. `help --man` the
/// hidden command `man`. --json and --color=… move from before the command to after it. Words after
/// "--" get a mark, which unmark_arguments() removes from the options' values.
[[nodiscard]] std::vector<std::string> words_of(std::span<char*> arguments, const CLI::App& app);

/// Refuses an option without its value, which CLI11 would take from the option that follows or from
/// `--`: nothing is written to a file called `--json`. Refuses words of `lode emulate` before `--`,
/// and arguments of a kernel on both sides of it.
[[nodiscard]] Status check_words(const CLI::App& app, std::span<const std::string> words);

/// Removes the marks from the values of every option and argument.
void unmark_arguments(CLI::App& app);

/// For whole numbers, which may have a unit of parse_count(); `of` says what they count, such as
/// " of seconds". Add it with transform().
[[nodiscard]] CLI::Validator whole_number(
    std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max(),
    std::string_view of = "");

/// For times, which may have a unit of parse_milliseconds(). Add it with transform().
[[nodiscard]] CLI::Validator milliseconds(std::uint64_t least, std::uint64_t most);

/// For sizes, which may have a unit of parse_bytes(). Add it with transform().
[[nodiscard]] CLI::Validator byte_count(
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// not_found for the first file among the values of `inputs` that doesn't exist. Also works after
/// errors of parsing.
[[nodiscard]] std::optional<Error> missing_input(std::span<const CLI::Option* const> inputs);

/// check_result_file() for the values of `results`, options of `command`, which may be neither of
/// `inputs` nor the same. Also works after errors of parsing.
[[nodiscard]] Status check_results(const CLI::App& command,
                                   std::span<const CLI::Option* const> results,
                                   std::span<const CLI::Option* const> inputs);

/// Whether a word that looks like an option is unknown: the words after it may be its values.
[[nodiscard]] bool has_unknown_option(const CLI::ParseError& error, const CLI::App& app);

/// The error for words that CLI11 rejects; `command` is null if it recognised no command.
[[nodiscard]] Error usage_error(const CLI::ParseError& error, const CLI::App& app,
                                const CLI::App* command, std::span<const std::string> words);

}  // namespace lode::tool
