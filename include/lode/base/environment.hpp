/// \file
/// Every environment variable that lode reads, as one table.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// One variable that lode reads.
struct EnvironmentVariable {
    std::string_view name;           ///< For example "LODE_CACHE".
    std::string_view meaning;        ///< One sentence.
    std::string_view default_value;  ///< The meaning of an unset variable, in words.
    /// The allowed words, separated by commas ("0, 1"); empty where any text may be valid.
    std::string_view allowed = {};
    bool is_secret = false;  ///< A credential: nothing prints its value.
};

/// All variables, in alphabetical order, as `lode info` and the documentation list them. The table
/// has static storage.
std::span<const EnvironmentVariable> environment_table() noexcept;

/// The value of a variable; nullopt when unset or empty. Asserts that the table contains the name.
/// Reads the process environment on every call: use it when opening things, never per launch. Not
/// safe while another thread changes the environment.
std::optional<std::string> environment(std::string_view name);

/// The variable's value, one of the words that the table allows; nullopt when unset.
/// Errors: invalid_argument with the variable, its value and the words.
[[nodiscard]] Result<std::optional<std::string>> environment_word(std::string_view name);

/// The value of a variable that allows "0, 1"; false when unset.
/// Errors: invalid_argument with the variable and its value.
[[nodiscard]] Result<bool> environment_flag(std::string_view name);

/// The variable's value, an integer from `least` to `most`; nullopt when unset.
/// Errors: invalid_argument with the variable, its value and the bounds.
[[nodiscard]] Result<std::optional<std::uint64_t>> environment_number(
    std::string_view name, std::uint64_t least, std::uint64_t most = ~std::uint64_t{0});

/// Checks every variable that has a list of allowed words.
///
/// Functions that open something call it, so that a wrong value is reported there rather than by
/// the call that reads the variable. The emulator checks its own variables (LODE_EMULATOR_…).
/// Errors: invalid_argument for the first wrong value, as environment_word() reports it.
[[nodiscard]] Status check_environment();

}  // namespace LODE_NAMESPACE

LODE_API_END
