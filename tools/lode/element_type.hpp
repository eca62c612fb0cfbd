// Element types as the command line names them, and numbers read from text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <tl/expected.hpp>

namespace lode::tool {

enum class ElementType : std::uint8_t { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

/// "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64", for messages.
inline constexpr std::string_view element_type_names = "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64";

std::string_view to_string(ElementType type) noexcept;
std::optional<ElementType> element_type_of(std::string_view name) noexcept;
std::size_t size_of(ElementType type) noexcept;  ///< Bytes.
bool is_floating_point(ElementType type) noexcept;

/// Calls `f(std::type_identity<T>())` with the C++ type that `type` stands for.
template <class F>
decltype(auto) with_type(ElementType type, F&& f) {
    switch (type) {
        case ElementType::f32:
            return std::forward<F>(f)(std::type_identity<float>());
        case ElementType::f64:
            return std::forward<F>(f)(std::type_identity<double>());
        case ElementType::i8:
            return std::forward<F>(f)(std::type_identity<std::int8_t>());
        case ElementType::i16:
            return std::forward<F>(f)(std::type_identity<std::int16_t>());
        case ElementType::i32:
            return std::forward<F>(f)(std::type_identity<std::int32_t>());
        case ElementType::i64:
            return std::forward<F>(f)(std::type_identity<std::int64_t>());
        case ElementType::u8:
            return std::forward<F>(f)(std::type_identity<std::uint8_t>());
        case ElementType::u16:
            return std::forward<F>(f)(std::type_identity<std::uint16_t>());
        case ElementType::u32:
            return std::forward<F>(f)(std::type_identity<std::uint32_t>());
        case ElementType::u64:
            break;
    }
    return std::forward<F>(f)(std::type_identity<std::uint64_t>());
}

/// One value as the device sees it: only the first size_of(type) bytes count.
using ElementBytes = std::array<std::byte, 8>;

/// Parses a number: decimal, with a unit of parse_count() or not, or 0x for integers; decimal,
/// "inf" or "nan" for floating point. The error is the end of a sentence: "isn't a whole number",
/// "is outside the range of i8, -128 to 127".
tl::expected<ElementBytes, std::string> parse_number(ElementType type, std::string_view text);

/// A number of some element type: in its own type if that affects printing, else in the widest.
using Number = std::variant<float, double, std::int64_t, std::uint64_t>;

/// The element at the start of `bytes`, which must hold at least size_of(type).
Number number_at(ElementType type, const std::byte* bytes);

/// The shortest text that reads back as the same number.
std::string to_string(const Number& number);

}  // namespace lode::tool
