#include "tools/lode/suggestion.hpp"

#include "base/lower_case.hpp"

#include <lode/base/arch.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// The number of edits between two words, with exchanged neighbours as one edit (optimal string
/// alignment).
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::vector<std::size_t>> edits(from.size() + 1,
                                                std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = 0; i <= from.size(); ++i) {
        for (std::size_t k = 0; k <= to.size(); ++k) {
            if (i == 0 || k == 0) {
                edits[i][k] = i + k;
                continue;
            }
            const std::size_t differs = from[i - 1] == to[k - 1] ? 0 : 1;
            edits[i][k] =
                std::min({edits[i - 1][k] + 1, edits[i][k - 1] + 1, edits[i - 1][k - 1] + differs});
            if (i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1])
                edits[i][k] = std::min(edits[i][k], edits[i - 2][k - 2] + 1);
        }
    }
    return edits[from.size()][to.size()];
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> candidates) {
    constexpr std::size_t longest = 64;  // No name is longer.
    if (word.size() > longest) return {};
    const std::string wanted = lower_case(word);
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string best;
    for (const auto& candidate : candidates) {
        const std::size_t edits = distance(wanted, lower_case(candidate));
        if (edits >= least) continue;
        least = edits;
        best = candidate;
    }
    return best;
}

std::string did_you_mean(std::string_view suggestion) {
    return suggestion.empty() ? "" : fmt::format(" Did you mean '{}'?", suggestion);
}

std::string suggested_arch(std::string_view text) {
    std::string letters;
    std::string rest;
    for (const char c : lower_case(text)) {
        const bool is_letter = c >= 'a' && c <= 'z';
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit) continue;
        (is_letter && rest.empty() ? letters : rest) += c;
    }
    const bool is_virtual = letters == "compute" || letters == "ptx";
    if (!letters.empty() && letters != "sm" && !is_virtual) return {};
    const auto arch = Arch::parse((is_virtual ? "compute_" : "sm_") + rest);
    return arch ? arch->to_string() : std::string();
}

}  // namespace lode::tool
