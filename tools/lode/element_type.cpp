#include "tools/lode/element_type.hpp"

#include "base/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::array<std::string_view, 10> names = {"f32", "f64", "i8",  "i16", "i32",
                                                    "i64", "u8",  "u16", "u32", "u64"};

template <class T>
tl::expected<T, std::string> read_floating_point(ElementType type, std::string_view text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) {
        return tl::unexpected<std::string>("isn't a number");
    }
    if (error == std::errc::result_out_of_range) {
        using Limits = std::numeric_limits<T>;
        return tl::unexpected(fmt::format("is outside the range of {}, {:g} to {:g} in size",
                                          to_string(type), Limits::denorm_min(), Limits::max()));
    }
    return value;
}

tl::expected<std::uint64_t, QuantityFault> read_hexadecimal(std::string_view text) {
    std::uint64_t magnitude = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, magnitude, 16);
    if (stop != end || error == std::errc::invalid_argument)
        return tl::unexpected(QuantityFault::malformed);
    if (error != std::errc{}) return tl::unexpected(QuantityFault::too_large);
    return magnitude;
}

template <class T>
tl::expected<T, std::string> read_integer(ElementType type, std::string_view text) {
    using Limits = std::numeric_limits<T>;
    constexpr std::string_view minus = "-";
    constexpr std::string_view hexadecimal = "0x";
    const bool is_negative = text.starts_with(minus);
    if (is_negative) text.remove_prefix(minus.size());
    const bool is_hexadecimal = text.starts_with(hexadecimal);
    if (is_hexadecimal) text.remove_prefix(hexadecimal.size());

    const auto magnitude = is_hexadecimal ? read_hexadecimal(text) : parse_count(text);
    if (!magnitude && magnitude.error() == QuantityFault::malformed)
        return tl::unexpected<std::string>("isn't a whole number");
    const auto largest = static_cast<std::uint64_t>(Limits::max());
    const std::uint64_t most = !is_negative ? largest : Limits::is_signed ? largest + 1 : 0;
    if (!magnitude || *magnitude > most) {
        return tl::unexpected(fmt::format("is outside the range of {}, {} to {}", to_string(type),
                                          Limits::min(), Limits::max()));
    }
    return static_cast<T>(is_negative ? 0 - *magnitude : *magnitude);
}

template <class T>
tl::expected<T, std::string> read(ElementType type, std::string_view text) {
    if constexpr (std::is_floating_point_v<T>) {
        return read_floating_point<T>(type, text);
    } else {
        return read_integer<T>(type, text);
    }
}

}  // namespace

std::string_view to_string(ElementType type) noexcept {
    return names[static_cast<std::size_t>(type)];
}

std::optional<ElementType> element_type_of(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<ElementType>(found - names.begin());
}

std::size_t size_of(ElementType type) noexcept {
    return with_type(type, []<class T>(std::type_identity<T>) { return sizeof(T); });
}

bool is_floating_point(ElementType type) noexcept {
    return type == ElementType::f32 || type == ElementType::f64;
}

tl::expected<ElementBytes, std::string> parse_number(ElementType type, std::string_view text) {
    return with_type(
        type, [&]<class T>(std::type_identity<T>) -> tl::expected<ElementBytes, std::string> {
            return read<T>(type, text).map([](T value) {
                ElementBytes bytes{};
                std::memcpy(bytes.data(), &value, sizeof value);
                return bytes;
            });
        });
}

Number number_at(ElementType type, const std::byte* bytes) {
    return with_type(type, [&]<class T>(std::type_identity<T>) -> Number {
        T value{};
        std::memcpy(&value, bytes, sizeof value);
        if constexpr (std::is_floating_point_v<T>) {
            return value;
        } else if constexpr (std::is_signed_v<T>) {
            return std::int64_t{value};
        } else {
            return std::uint64_t{value};
        }
    });
}

std::string to_string(const Number& number) {
    return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

}  // namespace lode::tool
