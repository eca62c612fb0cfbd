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

/// The characters of the longest line of a text in UTF-8.
inline std::size_t widest_line(std::string_view text) {
    std::size_t widest = 0;
    std::size_t width = 0;
    for (const char c : text) {
        if (c == '\n')
            width = 0;
        else if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80)
            ++width;
        widest = std::max(widest, width);
    }
    return widest;
}

}  // namespace lode::test
