#include "jit/request/text_words.hpp"

#include "base/identifier.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace LODE_NAMESPACE {
namespace {

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

bool is_piece(std::string_view identifier) {
    const auto has_it = [&](std::string_view word) {
        return word.find(identifier) != std::string_view::npos;
    };
    return std::ranges::any_of(time_words, has_it) || std::ranges::any_of(path_words, has_it) ||
           std::ranges::any_of(question_words, has_it);
}

}  // namespace

std::string_view joined_lines(std::string_view text, std::string& storage) {
    constexpr std::string_view blanks = " \t\v\f\r";
    constexpr std::string_view trigraph = "?\?/";
    if (text.find('\\') == std::string_view::npos && text.find(trigraph) == std::string_view::npos)
        return text;
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
    const auto add_identifiers = [&](std::string_view one) {
        for_each_identifier(one, [&](std::string_view identifier) {
            if (is_piece(identifier)) pieces_.emplace(identifier);
        });
    };
    std::string storage;
    const auto joined = joined_lines(text, storage);
    add_identifiers(joined);
    // The compiler doesn't join all lines that joined_lines() joins.
    if (joined.size() != text.size()) add_identifiers(text);
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
