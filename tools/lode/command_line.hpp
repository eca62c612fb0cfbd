// The part of the command line that CLI11 gets to see, and the errors for what it rejects.
#pragma once

#include <lode/base/error.hpp>

#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lode::tool {

/// Whether --json is among the options: for errors of a command line that can't be parsed.
bool asks_for_json(std::span<char*> arguments);

/// What --color says among words_of(): for errors of a command line that can't be parsed. Empty if
/// it says nothing.
[[nodiscard]] std::string color_option(std::span<const std::string> words);

/// The words of the command line without the program's name, as `app` is to parse them: `help X`
/// becomes `X --help`, `help --man` the hidden command `man`. --json and --color=… move from before
/// the command to after it. Words after "--" get a mark, which unmark_arguments() removes from the
/// options' values.
[[nodiscard]] std::vector<std::string> words_of(std::span<char*> arguments, const CLI::App& app);

/// Removes the marks from the values of every option and argument.
void unmark_arguments(CLI::App& app);

/// For options of unsigned types: refuses negative numbers, which CLI11 2.1 wraps. Add it last, so
/// that it sees the value first.
[[nodiscard]] CLI::Validator not_negative();

/// For sizes, which may have a unit of 1024: "48KB", "1GiB". Refuses negative ones.
[[nodiscard]] CLI::Validator byte_count();

/// The error for words that CLI11 rejects; `command` is null if it recognised no command.
[[nodiscard]] Error usage_error(const CLI::ParseError& error, const CLI::App& app,
                                const CLI::App* command, std::span<const std::string> words);

}  // namespace lode::tool
