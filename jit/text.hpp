// Helpers for parsing the compiler's texts.
#pragma once

#include <lode/base/api.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace LODE_NAMESPACE {

/// Removes the first line from `text` and returns it without its line end.
inline std::string_view take_line(std::string_view& text) noexcept {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

/// Removes blanks at both ends.
inline std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Removes `prefix` from `text` if it starts with it; returns whether it did.
inline bool take_prefix(std::string_view& text, std::string_view prefix) noexcept {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// Removes an unsigned decimal number from the start of `text` and returns it.
template <class Number>
std::optional<Number> take_number(std::string_view& text) noexcept {
    Number number{};
    if (text.starts_with('-')) return std::nullopt;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

}  // namespace LODE_NAMESPACE
