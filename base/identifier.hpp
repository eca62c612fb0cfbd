// The characters of identifiers and symbols, independent of the locale.
#pragma once

#include <lode/base/api.hpp>

namespace LODE_NAMESPACE {

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// A letter, a digit or an underscore.
constexpr bool is_identifier_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/// A character of a compiled symbol, which may also contain "$".
constexpr bool is_symbol_character(char c) noexcept {
    return is_identifier_character(c) || c == '$';
}

}  // namespace LODE_NAMESPACE
