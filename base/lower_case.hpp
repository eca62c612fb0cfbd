#pragma once

#include <lode/base/api.hpp>

#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// Only ASCII letters change, whatever the locale.
constexpr char lower_case(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        c = lower_case(c);
    return lower;
}

}  // namespace LODE_NAMESPACE
