#include "base/message_text.hpp"

#include "base/lower_case.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// Whether a byte continues a character of UTF-8.
bool is_continuation(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            result += "\\n";
        } else if (c == '\r') {
            result += "\\r";
        } else if (c == '\t') {
            result += "\\t";
        } else if (byte < 0x20 || byte == 0x7F) {
            result += fmt::format("\\x{:02x}", byte);
        } else {
            result += c;
        }
    }
    return result;
}

/// "1,488"
std::string grouped(std::size_t number) {
    constexpr std::size_t group = 3;
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > group; at -= group)
        digits.insert(at - group, 1, ',');
    return digits;
}

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

std::string shortened(std::string_view text, std::size_t most) {
    constexpr std::string_view gap = "…";
    if (text.size() <= most) return escaped(text);
    const std::size_t kept = most - gap.size();
    std::size_t head = kept - kept / 2;
    std::size_t tail = text.size() - kept / 2;
    while (head > 0 && is_continuation(text[head]))
        --head;
    while (tail < text.size() && is_continuation(text[tail]))
        ++tail;
    return fmt::format("{}{}{}", escaped(text.substr(0, head)), gap, escaped(text.substr(tail)));
}

std::string_view first_entry(std::string_view list) noexcept {
    auto end = list.find('\n');
    while (end != list.npos && end + 1 < list.size() && list[end + 1] == ' ')
        end = list.find('\n', end + 1);
    return list.substr(0, end);
}

std::string listed(std::span<const std::string> entries, const ListForm& form) {
    std::string list;
    for (const auto& entry : entries.first(std::min(entries.size(), form.entries))) {
        list +=
            fmt::format("{}{}", list.empty() ? "" : form.separator, shortened(entry, form.length));
    }
    if (entries.size() > form.entries) {
        const std::string_view before = form.separator == ", " ? " and " : form.separator;
        list += fmt::format("{}{} more", before, grouped(entries.size() - form.entries));
    }
    return list;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    constexpr std::size_t longest = 256;
    const auto begin = std::ranges::mismatch(a, b).in1 - a.begin();
    a.remove_prefix(static_cast<std::size_t>(begin));
    b.remove_prefix(static_cast<std::size_t>(begin));
    while (!a.empty() && !b.empty() && a.back() == b.back()) {
        a.remove_suffix(1);
        b.remove_suffix(1);
    }
    if (std::max(a.size(), b.size()) > longest) return std::max(a.size(), b.size());
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

std::string closest(std::string_view word, std::span<const std::string> candidates) {
    constexpr std::size_t longest = 64;  // No name is longer.
    if (word.size() > longest) return {};
    const std::string wanted = lower_case(word);
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string best;
    const auto common = [&](std::string_view candidate) {
        const auto [end, _] = std::ranges::mismatch(wanted, lower_case(candidate));
        return end - wanted.begin();
    };
    for (const auto& candidate : candidates) {
        const std::size_t edits = distance(wanted, lower_case(candidate));
        // "of" is as near to "on" as to "off"; most people type a word's beginning right.
        const bool wins_tie = edits == least && !best.empty() && common(candidate) > common(best);
        if (edits >= least && !wins_tie) continue;
        least = edits;
        best = candidate;
    }
    return best;
}

std::string did_you_mean(std::string_view suggestion) {
    return suggestion.empty() ? "" : fmt::format(" Did you mean '{}'?", suggestion);
}

}  // namespace LODE_NAMESPACE
