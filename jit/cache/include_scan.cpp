#include "jit/cache/include_scan.hpp"

#include <algorithm>

namespace lode::cache {
namespace {

constexpr std::string_view word = "include";
constexpr std::string_view blanks = " \t\v\f\r";

bool is_identifier_character(char c) noexcept {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The text as the preprocessor sees it after joining lines that end with a backslash (or with
/// ??/, which is one before C++17). Only texts that have any are copied.
std::string_view joined(std::string_view text, std::string& storage) {
    constexpr std::string_view trigraph = "?\?/";
    if (text.find('\\') == std::string_view::npos &&
        text.find(trigraph) == std::string_view::npos) {
        return text;
    }
    storage.reserve(text.size());
    while (!text.empty()) {
        const std::size_t mark =
            text[0] == '\\' ? 1 : (text.starts_with(trigraph) ? trigraph.size() : 0);
        std::size_t end = mark;
        while (mark > 0 && end < text.size() && blanks.find(text[end]) != std::string_view::npos)
            ++end;
        if (mark > 0 && end < text.size() && text[end] == '\n') {
            text.remove_prefix(end + 1);
        } else {
            storage += text[0];
            text.remove_prefix(1);
        }
    }
    return storage;
}

/// Removes blanks and comments from the front.
void skip_blanks(std::string_view& text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        if (!text.starts_with("/*")) return;
        const auto end = text.find("*/", 2);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    }
}

/// Whether the word at `at` may follow the # of a directive.
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

/// Whether nothing but blanks and comments lies before `at` on its line.
bool begins_line(std::string_view text, std::size_t at) {
    while (at > 0 && text[at - 1] != '\n') {
        if (blanks.find(text[at - 1]) != std::string_view::npos) {
            --at;
            continue;
        }
        if (at < 2 || text.substr(at - 2, 2) != "*/") return false;
        const auto comment = text.rfind("/*", at - 2);
        if (comment == std::string_view::npos) return false;
        at = comment;
    }
    return true;
}

/// Whether a text may renumber its lines: by #line, or by "# 12" as preprocessors write it.
bool has_line_directive(std::string_view text) {
    for (const std::string_view mark : {"#", "%:", "?\?="}) {
        for (std::size_t at = 0; (at = text.find(mark, at)) != std::string_view::npos; ++at) {
            std::string_view rest = text.substr(at + mark.size());
            skip_blanks(rest);
            const bool number = !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
            if ((number || identifier_at(rest, 0) == "line") && begins_line(text, at)) return true;
        }
    }
    return false;
}

}  // namespace

IncludeScan scan_includes(std::string_view text) {
    using Form = IncludeMention::Form;
    std::string storage;
    text = joined(text, storage);
    IncludeScan scan;
    scan.has_line_directive = has_line_directive(text);
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
            // "defined(__has_include)" names nothing; __has_include(MACRO) does.
            scan.computed = scan.computed || is_identifier_character(open);
        } else {
            scan.computed = scan.computed || follows_hash(text, start);
        }
    }
    return scan;
}

bool is_free_of_includes(std::string_view text) {
    std::string storage;
    return joined(text, storage).find(word) == std::string_view::npos;
}

}  // namespace lode::cache
