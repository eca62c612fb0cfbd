// Every environment variable that lode reads, as one table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lode {

/// One variable that lode honours.
struct EnvironmentVariable {
    std::string_view name;
    std::string_view meaning;        ///< One sentence.
    std::string_view default_value;  ///< What an unset variable means, in words.
};

/// All of them, in alphabetical order: what `lode info` and the documentation print.
std::span<const EnvironmentVariable> environment_table() noexcept;

/// The value of a variable; nullopt when unset or empty. Asserts that the table has the name.
/// Reads the process environment now: call it when opening things, never per launch.
std::optional<std::string> environment(std::string_view name);

}  // namespace lode
