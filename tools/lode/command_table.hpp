// The commands and options as plain values, for completions and man pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

struct OptionRow {
    std::vector<std::string> names;  ///< "-o", "--output"; the name alone for an argument.
    std::string value;               ///< "DIR"; empty for a flag.
    std::string meaning;
    std::string group;
    bool is_required = false;
};

struct CommandRow {
    std::string name;  ///< "lode cache stats"
    std::string meaning;
    std::string footer;
    std::vector<OptionRow> options;  ///< Those of the commands around it are valid too.
    std::vector<OptionRow> arguments;
    std::vector<CommandRow> commands;

    /// "stats"
    [[nodiscard]] std::string_view last_name() const {
        return std::string_view(name).substr(name.rfind(' ') + 1);
    }
};

}  // namespace lode::tool
