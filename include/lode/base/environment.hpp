// Every environment variable that lode reads, as one table.
#pragma once

#include <lode/base/error.hpp>

#include <cstdint>
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
    /// The words that it may hold, with commas: "0, 1". Empty where any text may mean something.
    std::string_view allowed = {};
};

/// All of them, in alphabetical order: what `lode info` and the documentation print.
std::span<const EnvironmentVariable> environment_table() noexcept;

/// The value of a variable; nullopt when unset or empty. Asserts that the table has the name.
/// Reads the process environment now: call it when opening things, never per launch.
std::optional<std::string> environment(std::string_view name);

// The one strict reader of variables with a closed set of values. Errors: invalid_argument with the
// variable, its value and what is allowed. Empty counts as unset.

/// One of the words that the table allows; nullopt when unset.
[[nodiscard]] Result<std::optional<std::string>> environment_word(std::string_view name);

/// A variable that the table allows "0, 1"; false when unset.
[[nodiscard]] Result<bool> environment_flag(std::string_view name);

/// A whole number, `least` or more; nullopt when unset.
[[nodiscard]] Result<std::optional<std::uint64_t>> environment_number(std::string_view name,
                                                                      std::uint64_t least);

/// Reads every variable that has allowed words, and complains about the first wrong one: what opens
/// something calls it, so that no mistake waits for the one call that reads the variable. The
/// emulator's variables are left to the emulator, which isn't always there.
[[nodiscard]] Status check_environment();

}  // namespace lode
