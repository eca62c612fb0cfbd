// What the tokens of a translation unit can form: the compiler's macros for the time and for paths.
#pragma once

#include "base/identifier.hpp"

#include <lode/base/api.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// What puts the time into code.
inline constexpr std::string_view time_words[] = {"__TIME__", "__DATE__", "__TIMESTAMP__"};
/// Why code with the time of its compilation isn't kept, as a clause.
inline constexpr std::string_view time_obstacle = "the source depends on the time of compilation";
/// What puts the name of a file into code, apart from macros of headers.
inline constexpr std::string_view path_words[] = {"__FILE__", "__BASE_FILE__", "__builtin_FILE",
                                                  "source_location"};
/// Those of them that give another name than that of the text in which they stand.
inline constexpr std::string_view caller_words[] = {"__BASE_FILE__", "__builtin_FILE",
                                                    "source_location"};

/// What puts the name of the source into code, wherever it stands.
inline constexpr std::string_view source_words[] = {"__BASE_FILE__"};
/// What asks whether there is a header.
inline constexpr std::string_view question_words[] = {"__has_include", "__has_include_next"};

/// The text after joining lines that end with a backslash (or with ??/, its trigraph before C++17),
/// as the preprocessor does. Only texts with such lines are copied, to `storage`.
[[nodiscard]] std::string_view joined_lines(std::string_view text, std::string& storage);

/// Calls `use` for each identifier of a text. Numbers, which may contain letters, are none.
template <class Use>
void for_each_identifier(std::string_view text, const Use& use) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        while (at < text.size() && is_identifier_character(text[at]))
            ++at;
        if (at == start)
            ++at;
        else if (!is_digit(text[start]))
            use(text.substr(start, at - start));
    }
}

/// Whether one of a text's identifiers is `word`.
[[nodiscard]] bool has_identifier(std::string_view text, std::string_view word);

/// The identifiers of several texts that are parts of the words above.
///
/// Conservative: ## may join tokens of different texts in any order, any number of times. Comments
/// and strings count as code where a compiler may read the text in two ways, and underscores can
/// come from any macro.
class WordPieces {
public:
    /// Adds an option or a part of one, all of which counts.
    void add(std::string_view text);
    /// Adds a source or a header.
    void add_code(std::string_view text);

    /// Whether one of the words is among the texts' identifiers, or can be joined from pieces.
    [[nodiscard]] bool can_form_any(std::span<const std::string_view> words) const;
    /// Whether one of the words can be joined from pieces.
    [[nodiscard]] bool can_join_any(std::span<const std::string_view> words) const;

private:
    [[nodiscard]] bool can_join(std::string_view word) const;

    std::set<std::string, std::less<>> pieces_;
};

}  // namespace LODE_NAMESPACE
