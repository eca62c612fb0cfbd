// Helpers for texts in tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace lode::test {

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// The number of line ends.
inline std::size_t lines_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace lode::test
