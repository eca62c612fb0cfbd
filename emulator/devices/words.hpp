// Parsing of lists in environment variables.
#pragma once

#include <string_view>
#include <vector>

namespace lode::emulator {

/// The comma-separated words of `list`, trimmed of spaces. "" yields one empty word.
inline std::vector<std::string_view> words_of(std::string_view list) {
    const auto trimmed = [](std::string_view text) {
        const auto first = text.find_first_not_of(" \t");
        if (first == std::string_view::npos) return std::string_view();
        return text.substr(first, text.find_last_not_of(" \t") - first + 1);
    };
    std::vector<std::string_view> words;
    for (;;) {
        const auto comma = list.find(',');
        words.push_back(trimmed(list.substr(0, comma)));
        if (comma == std::string_view::npos) return words;
        list.remove_prefix(comma + 1);
    }
}

}  // namespace lode::emulator
