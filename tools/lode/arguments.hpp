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

/// A number without a type, "1024" or "2.5": that of the kernel's parameter.
struct UntypedArgument {};

/// A number of a type, passed by value: "2.5f", "i64:7".
struct ScalarArgument {
    ElementType type = ElementType::i32;
    ElementBytes bytes{};
};

/// The initial contents of a buffer.
struct ZerosFill {};
struct OnesFill {};
struct IotaFill {};  ///< 0, 1, 2, …; integers wrap at the end of their range.
/// The same numbers on every machine: floating point in [0, 1), integers over their full range.
struct RandomFill {
    std::uint64_t seed = 0;
};
struct ValueFill {
    ElementBytes bytes{};
};
/// The raw bytes of a file of exactly the buffer's size.
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
    std::variant<UntypedArgument, ScalarArgument, BufferArgument> value;
};

/// The maximum size of one buffer: 1 TiB.
inline constexpr std::size_t max_buffer_bytes = std::size_t{1} << 40;

/// Every form with its meaning, one per line: the end of `lode run --help`.
std::string_view argument_help() noexcept;

/// Parses one argument. `number` counts from 1. Opens no file. invalid_argument names the text, the
/// position of the mistake and the accepted forms.
[[nodiscard]] Result<Argument> parse_argument(std::string_view text, int number);

/// Compares arguments with a kernel's parameters before any launch: count, sizes, and kinds if the
/// PTX states them. `types` has the parameters' C++ types, and is empty where the kernel's name
/// doesn't have them. Gives the arguments with the parameter's type for numbers without one;
/// without C++ types those of integers are as wide as the PTX says, signed if the number fits.
/// signature_mismatch names the argument, what it is, what the kernel expects and, if there is one,
/// the spelling that fits.
[[nodiscard]] Result<std::vector<Argument>> fit_arguments(
    std::string_view kernel, std::span<const KernelParameter> parameters,
    std::span<const std::string> types, std::span<const Argument> arguments);

/// A parameter in messages: "f32", "int32", "pointer", "pointer/int64" if the PTX doesn't
/// distinguish, "12 bytes".
std::string describe(const KernelParameter& parameter);

}  // namespace lode::tool
