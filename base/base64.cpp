#include "base/base64.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t group_bytes = 3;
constexpr std::size_t group_digits = 4;
constexpr unsigned digit_bits = 6;

}  // namespace

std::string to_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / group_bytes * group_digits);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(group_bytes, bytes.size()))) {
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < group_bytes; ++i)
            group = group << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
        for (std::size_t i = 0; i < group_digits; ++i)
            text += i > bytes.size() ? '=' : digits[group >> digit_bits * (3 - i) & 63U];
    }
    return text;
}

std::optional<std::string> from_base64(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() / group_digits * group_bytes);
    std::string_view rest = text.substr(0, text.find('='));
    while (!rest.empty()) {
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < group_digits; ++i) {
            const auto digit = i < rest.size() ? digits.find(rest[i]) : 0;
            if (digit == std::string_view::npos) return std::nullopt;
            group = group << digit_bits | static_cast<std::uint32_t>(digit);
        }
        for (std::size_t i = 0; i + 1 < rest.size() && i < group_bytes; ++i)
            bytes += static_cast<char>(group >> 8 * (2 - i) & 255U);
        rest.remove_prefix(std::min(group_digits, rest.size()));
    }
    if (to_base64(bytes) != text) return std::nullopt;  // Padding, and bits that are left over.
    return bytes;
}

}  // namespace LODE_NAMESPACE
