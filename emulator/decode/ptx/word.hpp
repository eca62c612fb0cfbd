// Word: a word of an opcode, such as "ld", "global" or "u32".
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace lode::emulator::ptx {

/// The words of the grammar, in ascending order; a test compares them with its rows.
inline constexpr std::string_view all_words[] = {
#include "emulator/decode/ptx/words.def"
};

/// A word of the grammar, or none. A literal becomes one at compile time, so that one that isn't in
/// the grammar doesn't compile: `word == "shared::cta"`.
class Word {
public:
    constexpr Word() = default;
    consteval Word(const char* text) : Word(named(text)) {
        if (*this == Word()) throw "The grammar has no such word.";
    }
    /// The word with this text; none if the grammar doesn't have it.
    [[nodiscard]] static constexpr Word named(std::string_view text) noexcept {
        Word word;
        const auto* const at = std::ranges::lower_bound(all_words, text);
        if (at != std::end(all_words) && *at == text)
            word.number_ = static_cast<std::uint16_t>(at - all_words + 1);
        return word;
    }

    /// Empty for none.
    [[nodiscard]] constexpr std::string_view text() const noexcept {
        return number_ == 0 ? std::string_view() : all_words[number_ - 1];
    }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return number_ != 0; }
    friend constexpr bool operator==(Word, Word) = default;

private:
    std::uint16_t number_ = 0;
};

/// The words that begin with a text, which is a literal.
class WordPrefix {
public:
    consteval WordPrefix(const char* text) : text_(text) {
        if (std::ranges::none_of(all_words, [&](auto word) { return word.starts_with(text_); }))
            throw "The grammar has no such word.";
    }
    [[nodiscard]] constexpr bool matches(Word word) const noexcept {
        return word.text().starts_with(text_);
    }

private:
    std::string_view text_;
};

}  // namespace lode::emulator::ptx
