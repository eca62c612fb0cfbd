// The commands and options as plain values, for help, completions and man pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// The heading of the options that every command has.
inline constexpr std::string_view common_options = "Common options";

struct OptionRow {
    std::vector<std::string> names = {};  ///< "-o", "--output"; the name alone for an argument.
    std::string value = {};     ///< "DIR"; empty for a flag; "[=FILE]" if it can be left out.
    std::string fallback = {};  ///< The value without the option; often empty.
    std::string meaning = {};
    std::string group = {};  ///< Its heading.
    bool is_required = false;
    bool repeats = false;  ///< It takes any number of values.

    /// Whether the next word is its value.
    [[nodiscard]] bool takes_word() const { return !value.empty() && !value.starts_with('['); }
};

struct CommandRow {
    std::string name = {};  ///< "lode cache stats"
    std::string meaning = {};
    std::string group = {};                  ///< Its heading among the commands around it.
    std::vector<std::string> examples = {};  ///< Lines for a shell.
    std::string footer = {};
    std::vector<OptionRow> options = {};  ///< Those of the commands around it are valid too.
    std::vector<OptionRow> arguments = {};
    std::vector<CommandRow> commands = {};

    /// "stats"
    [[nodiscard]] std::string_view last_name() const {
        return std::string_view(name).substr(name.rfind(' ') + 1);
    }
};

}  // namespace lode::tool
