// What lode does with each flag of nvcc and NVRTC: one table, for CompileOptions::parse(),
// CompileOptions::extra_flags and messages.
#pragma once

#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// A row of the table: a flag, or one value of a flag.
struct NvccFlag {
    enum class Value : std::uint8_t {
        none,
        one,     ///< After "=", or the next argument.
        joined,  ///< The same, or directly after the one letter of its second name.
        list     ///< As `one`; several are separated by commas, and a comma in one is "\,".
    };
    enum class Use : std::uint8_t {
        option,   ///< A member of CompileOptions, which `text` names.
        passed,   ///< NVRTC gets it as `text`, with the value after "=". A blank separates flags.
        ignored,  ///< Accepted without effect; `text` is the reason.
        refused   ///< `text` says why, or what to do instead.
    };

    std::string_view name;   ///< Without dashes. "x=cu": the flag x with this value.
    std::string_view other;  ///< Its second name; may be empty.
    Value value;
    Use use;
    std::string_view text;
    int since = 0;  ///< 1205 if only NVRTC 12.5 and newer have it; 0 for all that lode supports.
    /// For `option`: sets the member, or returns what is wrong with the value ("is 'x' but …").
    std::string (*set)(CompileOptions& options, std::string_view value) = nullptr;
};

/// All rows.
std::span<const NvccFlag> nvcc_flags();

/// The flag at the start of some arguments.
struct ReadFlag {
    const NvccFlag* row = nullptr;  ///< Null for an unknown flag.
    std::optional<std::string_view> value = std::nullopt;
    std::size_t taken = 1;  ///< Arguments taken: the flag, and its value if that is the next.
};
ReadFlag read_flag(std::span<const std::string> arguments);

/// A flag of the use `passed` as NVRTC takes it. Errors: a text that says which value of the list
/// isn't known, and which are.
tl::expected<std::vector<std::string>, std::string> spelled_for_nvrtc(const ReadFlag& flag);

/// The flags for NVRTC in CompileOptions::extra_flags. Errors: invalid_argument, naming a flag that
/// is an option of lode or is refused.
[[nodiscard]] Result<std::vector<std::string>> passed_flags(
    std::span<const std::string> extra_flags);

/// What to add to NVRTC's message about a flag that it doesn't know, "unrecognized option --flag=x
/// found": since when it has the flag, or the nearest flag. Empty for other messages, and if
/// neither is known.
std::string unknown_flag_hint(std::string_view message);

}  // namespace LODE_NAMESPACE
