#include "jit/headers/include_scan.hpp"

#include "base/identifier.hpp"
#include "jit/request/text_words.hpp"

#include <algorithm>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::string_view word = "include";
constexpr std::string_view blanks = " \t\v\f\r";
constexpr std::string_view paste_operators[] = {"##", "%:%:", "?\?=?\?="};

/// Removes blanks and comments from the front.
void skip_blanks(std::string_view& text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        if (!text.starts_with("/*")) return;
        const auto end = text.find("*/", 2);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    }
}

/// Whether the word at `at` may be the name of a directive, that is, follow a #.
bool follows_hash(std::string_view text, std::size_t at) {
    while (at > 0) {
        const char before = text[at - 1];
        if (before == '#' || (before == ':' && at > 1 && text[at - 2] == '%')) return true;
        if (blanks.find(before) != std::string_view::npos) {
            --at;
        } else if (before == '/' && at > 1 && text[at - 2] == '*') {
            const auto comment = text.rfind("/*", at - 2);
            if (comment == std::string_view::npos) return false;
            at = comment;
        } else {
            return before == '=' && at > 2 && text.substr(at - 3, 3) == "?\?=";
        }
    }
    return false;
}

/// The start of the identifier that the word at `at` belongs to.
std::size_t identifier_start(std::string_view text, std::size_t at) {
    while (at > 0 && is_identifier_character(text[at - 1]))
        --at;
    return at;
}

std::string_view identifier_at(std::string_view text, std::size_t start) {
    std::size_t end = start;
    while (end < text.size() && is_identifier_character(text[end]))
        ++end;
    return text.substr(start, end - start);
}

/// Whether a text may join tokens, by any spelling of ##.
bool pastes_tokens(std::string_view text) noexcept {
    return std::ranges::any_of(paste_operators, [&](std::string_view mark) {
        return text.find(mark) != std::string_view::npos;
    });
}

/// Whether `__has_include` after `before` is only tested for existence.
bool is_asked_for(std::string_view before) {
    constexpr std::string_view questions[] = {"defined", "ifdef", "ifndef", "elifdef", "elifndef"};
    const auto skip_back = [&](std::string_view characters) {
        before = before.substr(0, before.find_last_not_of(characters) + 1);
    };
    skip_back(blanks);
    if (before.ends_with('(')) before.remove_suffix(1);
    skip_back(blanks);
    return std::ranges::any_of(questions, [&](auto one) { return before.ends_with(one); });
}

}  // namespace

IncludeScan scan_includes(std::string_view text) {
    using Form = IncludeMention::Form;
    std::string storage;
    text = joined_lines(text, storage);
    IncludeScan scan;
    std::size_t at = 0;
    while ((at = text.find(word, at)) != std::string_view::npos) {
        const std::size_t start = identifier_start(text, at);
        const std::string_view identifier = identifier_at(text, start);
        at = start + identifier.size();
        Form form{};
        if (identifier == "include") {
            form = Form::include;
        } else if (identifier == "include_next") {
            form = Form::include_next;
        } else if (identifier == "__has_include" || identifier == "__has_include_next") {
            form = Form::has_include;
        } else {
            continue;
        }
        std::string_view rest = text.substr(at);
        skip_blanks(rest);
        if (form == Form::has_include && rest.starts_with('(')) {
            rest.remove_prefix(1);
            skip_blanks(rest);
        }
        const char open = rest.empty() ? '\0' : rest[0];
        const bool names = open == '<' || open == '"';
        const auto end =
            names ? rest.find_first_of(open == '<' ? ">\n" : "\"\n", 1) : std::string_view::npos;
        if (end != std::string_view::npos && rest[end] != '\n') {
            scan.mentions.push_back({form, open == '"', std::string(rest.substr(1, end - 1))});
        } else if (form == Form::has_include) {
            // "defined(__has_include)" names no header; __has_include(MACRO) and an alias do.
            scan.computed = scan.computed || !is_asked_for(text.substr(0, start));
        } else {
            scan.computed = scan.computed || follows_hash(text, start);
        }
    }
    return scan;
}

bool is_free_of_includes(std::string_view text) {
    std::string storage;
    text = joined_lines(text, storage);
    return text.find(word) == std::string_view::npos && !pastes_tokens(text);
}

}  // namespace LODE_NAMESPACE::cache
