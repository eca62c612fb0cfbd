// Kernel arguments as text: the grammar of `lode run … -- ARGS`. docs/command.md describes it.
#pragma once

#include "tools/lode/element_type.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lode::tool {

/// A number passed by value: "2.5f", "1024", "i64:7".
struct ScalarArgument {
    ElementType type = ElementType::i32;
    ElementBytes bytes{};
};

/// How a buffer starts out.
struct ZerosFill {};
struct OnesFill {};
struct IotaFill {};  ///< 0, 1, 2, …; integers wrap at the end of their range.
/// The same numbers on every machine: floating point in [0, 1), integers over their whole range.
struct RandomFill {
    std::uint64_t seed = 0;
};
struct ValueFill {
    ElementBytes bytes{};
};
/// Raw bytes of a file that has exactly the buffer's size.
struct FileFill {
    std::filesystem::path path;
};
using Fill = std::variant<ZerosFill, OnesFill, IotaFill, RandomFill, ValueFill, FileFill>;

/// Device memory passed by address: "f32[1024]:iota".
struct BufferArgument {
    ElementType type = ElementType::f32;
    std::size_t count = 0;
    Fill fill;

    [[nodiscard]] std::size_t size_bytes() const noexcept { return count * size_of(type); }
};

/// One argument and the text it was read from.
struct Argument {
    std::string text;
    std::variant<ScalarArgument, BufferArgument> value;
};

/// The most that one buffer may hold: 1 TiB.
inline constexpr std::size_t max_buffer_bytes = std::size_t{1} << 40;

/// Every form, one a line with its meaning: the end of `lode run --help`.
std::string_view argument_help() noexcept;

/// Reads one argument. `number` counts from 1. Touches no file. invalid_argument names the text,
/// the position of the fault in it and the accepted forms.
[[nodiscard]] Result<Argument> parse_argument(std::string_view text, int number);

/// Compares arguments with a kernel's parameters before anything is launched: count, sizes, and
/// kinds where the PTX tells them. signature_mismatch names the argument, what it is, what the
/// kernel takes and, where one exists, the spelling that fits.
[[nodiscard]] Status check_arguments(std::string_view kernel,
                                     std::span<const KernelParameter> parameters,
                                     std::span<const Argument> arguments);

/// "f32", "int32", "pointer", "pointer/int64" where the PTX can't tell, "12 bytes": a parameter for
/// people.
std::string describe(const KernelParameter& parameter);

}  // namespace lode::tool
