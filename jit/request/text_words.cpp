#include "jit/request/text_words.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view blanks = " \t\v\f\r";
constexpr std::string_view trigraph = "?\?/";

/// Every compiler joins the same lines of a text, and no literal in it goes over several.
bool has_certain_lines(std::string_view text) {
    if (text.find('\r') != std::string_view::npos ||
        text.find(trigraph) != std::string_view::npos || text.find("R\"") != std::string_view::npos)
        return false;
    for (auto at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
        const auto end = text.find_first_not_of(blanks, at + 1);
        if (end != at + 1 && end != std::string_view::npos && text[end] == '\n') return false;
    }
    return true;
}

/// Where a line's string that begins at `start` ends; npos where it is no string for certain.
std::size_t end_of_string(std::string_view line, std::size_t start) {
    for (std::size_t at = start + 1; at < line.size(); ++at) {
        if (line[at] == '"') return at + 1;
        if (line[at] == '\\') ++at;
        if (line.substr(at).starts_with("*/")) break;
    }
    return std::string_view::npos;
}

/// The first comment or string of a text with certain lines, where it is one for certain: its
/// offset and its end. What follows a character or a header's name on the same line isn't.
///
/// The text may begin within a comment: what is found contains no end of another comment.
std::pair<std::size_t, std::size_t> first_hidden(std::string_view text) {
    constexpr auto npos = std::string_view::npos;
    for (std::size_t at = 0; (at = text.find_first_of("/\"'<", at)) != npos; ++at) {
        const auto line_end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(0, line_end);
        const auto rest = line.substr(at);
        std::size_t end = npos;
        if (rest[0] == '/' && at > 0 && text[at - 1] == '*') {
            // It may be the end of a comment.
        } else if (rest[0] == '"') {
            end = end_of_string(line, at);
        } else if (rest.starts_with("//")) {
            if (rest.find("*/") == npos) end = line_end;
        } else if (rest.starts_with("/*") && !rest.starts_with("/*/")) {
            end = text.find("*/", at + 2);
            if (end != npos) end += 2;
        } else if (rest[0] == '/' && !rest.starts_with("/*")) {
            continue;
        }
        if (end != npos) return {at, end};
        at = line_end;
    }
    return {text.size(), text.size()};
}

/// Calls `use` for the parts of a text with certain lines between its certain comments and strings.
template <class Use>
void for_each_part_of_code(std::string_view text, const Use& use) {
    while (!text.empty()) {
        const auto [start, end] = first_hidden(text);
        use(text.substr(0, start));
        text.remove_prefix(end);
    }
}

/// Every part of the words above.
const std::unordered_set<std::string_view>& all_pieces() {
    // A thread may outlive exit()'s destructors.
    static const auto& all = *new auto([] {
        std::unordered_set<std::string_view> parts;
        for (const auto words : {std::span<const std::string_view>(time_words),
                                 std::span<const std::string_view>(path_words),
                                 std::span<const std::string_view>(question_words)}) {
            for (const auto word : words) {
                for (std::size_t at = 0; at < word.size(); ++at) {
                    for (std::size_t size = 1; size <= word.size() - at; ++size)
                        parts.insert(word.substr(at, size));
                }
            }
        }
        return parts;
    }());
    return all;
}

}  // namespace

std::string_view joined_lines(std::string_view text, std::string& storage) {
    if (text.find('\\') == std::string_view::npos && text.find(trigraph) == std::string_view::npos)
        return text;
    storage.reserve(text.size());
    while (!text.empty()) {
        const auto plain = std::min(text.find_first_of("\\?"), text.size());
        storage += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        const std::size_t mark = text[0] == '\\' ? 1 : trigraph.size();
        const bool is_mark = text[0] == '\\' || text.starts_with(trigraph);
        const auto end = is_mark ? text.find_first_not_of(blanks, mark) : std::string_view::npos;
        if (end != std::string_view::npos && text[end] == '\n') {
            text.remove_prefix(end + 1);
        } else {
            storage += text[0];
            text.remove_prefix(1);
        }
    }
    return storage;
}

bool has_identifier(std::string_view text, std::string_view word) {
    std::string storage;
    text = joined_lines(text, storage);
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !is_identifier_character(text[at - 1])) &&
            (end == text.size() || !is_identifier_character(text[end])))
            return true;
    }
    return false;
}

void WordPieces::add(std::string_view text) {
    const auto& all = all_pieces();
    for_each_identifier(text, [&](std::string_view identifier) {
        if (all.contains(identifier)) pieces_.emplace(identifier);
    });
}

void WordPieces::add_code(std::string_view text) {
    std::string storage;
    const auto joined = joined_lines(text, storage);
    if (has_certain_lines(text)) {
        for_each_part_of_code(joined, [&](std::string_view part) { add(part); });
        return;
    }
    add(joined);
    // The compiler doesn't join all lines that joined_lines() joins.
    if (joined.size() != text.size()) add(text);
}

bool WordPieces::can_join(std::string_view word) const {
    std::vector<bool> reached(word.size() + 1, false);
    reached[0] = true;
    for (std::size_t at = 0; at < word.size(); ++at) {
        if (!reached[at]) continue;
        if (word[at] == '_') reached[at + 1] = true;
        for (const auto& piece : pieces_) {
            if (piece != word && word.substr(at).starts_with(piece))
                reached[at + piece.size()] = true;
        }
    }
    return reached[word.size()];
}

bool WordPieces::can_join_any(std::span<const std::string_view> words) const {
    return std::ranges::any_of(words, [&](auto word) { return can_join(word); });
}

bool WordPieces::can_form_any(std::span<const std::string_view> words) const {
    return can_join_any(words) || std::ranges::any_of(words, [&](auto word) {
               return pieces_.find(word) != pieces_.end();
           });
}

}  // namespace LODE_NAMESPACE
