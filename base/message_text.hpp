// Parts of messages whose length is bounded, whatever they quote or list.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// How many characters of a name or text a message quotes, and how many entries it lists.
inline constexpr std::size_t most_quoted = 160;
inline constexpr std::size_t most_listed = 12;

/// The text as a message quotes it, on one line: a control character is written as its escape, and
/// a text longer than `most` bytes is cut in the middle, between characters.
std::string shortened(std::string_view text, std::size_t most = most_quoted);

/// The first entry of a list whose entries are a line and indented lines below it.
[[nodiscard]] std::string_view first_entry(std::string_view list) noexcept;

/// How much of a list a message shows.
struct ListForm {
    std::string_view separator = ", ";
    std::size_t entries = most_listed;
    std::size_t length = most_quoted;  ///< The most bytes shown of one entry.
};

/// One line for each place that was searched for a file.
inline constexpr ListForm search_form{"\n  ", 32, 400};
/// All architectures of a compiler.
inline constexpr ListForm arch_form{", ", 32, most_quoted};

/// "a, b, c": each entry as shortened() gives it, and of those after the first twelve the number:
/// "a, …, l and 1,488 more".
std::string listed(std::span<const std::string> entries, const ListForm& form = {});

/// The number of insertions, removals and replacements of a character that turn one text into the
/// other. What long texts don't share at their ends counts as all different.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`: at most one edit away, or a third of the word's length. An edit
/// inserts, removes or replaces a character or exchanges two neighbours; letters' case doesn't
/// count. Empty if no candidate is that near.
[[nodiscard]] std::string closest(std::string_view word, std::span<const std::string> candidates);

/// " Did you mean 'x'?", or nothing for an empty suggestion.
[[nodiscard]] std::string did_you_mean(std::string_view suggestion);

}  // namespace LODE_NAMESPACE
