// Lexer: words, numbers and marks of PTX with line numbers. Header-only for speed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace lode::emulator::ptx {

enum class Token : std::uint8_t { end, word, directive, integer, real32, real64, text, mark };

class Lexer {
public:
    explicit Lexer(std::string_view source) noexcept
        : at_(source.data()), end_(source.data() + source.size()) {
        next();
    }

    Token token = Token::end;
    std::string_view text;     ///< The token's characters; a directive includes its dot.
    std::uint64_t bits = 0;    ///< The value of a number.
    bool overflows = false;    ///< The number exceeds 64 bits, or is incomplete.
    bool is_unsigned = false;  ///< The integer has the suffix U.
    std::uint32_t line = 1;    ///< The line of the token.

    void next() noexcept {
        skip_space();
        line = current_line_;
        if (at_ == end_) {
            token = Token::end;
            text = {};
            return;
        }
        const char* const start = at_;
        const char c = *at_;
        if (starts_word(at_)) {
            do {
                ++at_;
            } while (at_ != end_ && is_part(*at_));
            token = Token::word;
        } else if (c == '.' && at_ + 1 != end_ && at_[1] >= '0' && at_[1] <= '9') {
            token = Token::integer;
            decimal();
        } else if (c == '.') {
            ++at_;
            while (at_ != end_ && is_part(*at_))
                ++at_;
            token = Token::directive;
        } else if (c >= '0' && c <= '9') {
            number();
        } else if (c == '"') {
            ++at_;
            while (at_ != end_ && *at_ != '"')
                ++at_;
            token = at_ != end_ ? Token::text : Token::mark;  // Rejected by the parser.
            if (at_ != end_) ++at_;
        } else {
            ++at_;
            token = Token::mark;
        }
        text = {start, static_cast<std::size_t>(at_ - start)};
    }

    /// Makes what follows the next occurrence of `end` the current token; the end of the text if
    /// there is none.
    void skip_past(std::string_view end) noexcept {
        const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
        const std::size_t found = rest.find(end);
        const std::size_t length = found == rest.npos ? rest.size() : found + end.size();
        current_line_ +=
            static_cast<std::uint32_t>(std::ranges::count(rest.substr(0, length), '\n'));
        at_ += length;
        next();
    }

    /// Joins the rest of an opcode or special register (".global.v2.f32", "shared::cta" and so on)
    /// to the current word. The current token must be a word; the next token is not read yet.
    void extend_word() noexcept {
        const char* const start = text.data();
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        while (at_ != end_) {
            const char next = at_ + 1 != end_ ? at_[1] : '\0';
            if (*at_ == ':' && next == ':') {
                at_ += 2;
                continue;
            }
            const bool is_ratio = *at_ == ':' && is_digit(at_[-1]) && is_digit(next);  // sp::2:4
            if (!is_ratio && !is_part(*at_) && !(*at_ == '.' && is_part(next))) break;
            ++at_;
        }
        text = {start, static_cast<std::size_t>(at_ - start)};
    }

    [[nodiscard]] bool is(char mark) const noexcept {
        return token == Token::mark && text[0] == mark;
    }
    /// Whether a name, not a number, follows the current mark.
    [[nodiscard]] bool word_follows() const noexcept {
        const char* probe = at_;
        while (probe != end_ && (*probe == ' ' || *probe == '\t'))
            ++probe;
        return probe != end_ && starts_word(probe) &&
               !std::string_view(probe, static_cast<std::size_t>(end_ - probe))
                    .starts_with("WARP_SZ");
    }
    /// The text from the current mark on, for operators of two marks.
    [[nodiscard]] std::string_view rest_of_marks() const noexcept {
        if (token != Token::mark) return {};
        return {text.data(), static_cast<std::size_t>(end_ - text.data())};
    }
    [[nodiscard]] bool at_end() const noexcept { return token == Token::end; }
    void stop() noexcept {
        at_ = end_;
        token = Token::end;
        text = {};
    }

private:
    /// "%" and "$" only begin a name if more of it follows; "%" is also an operator.
    bool starts_word(const char* at) const noexcept {
        const char c = *at;
        if (c != '%' && c != '$') return is_part(c) && !(c >= '0' && c <= '9');
        return at + 1 != end_ && is_part(at[1]);
    }
    static bool is_part(char c) noexcept {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$';
    }

    void skip_space() noexcept {
        while (at_ != end_) {
            const char c = *at_;
            if (c == '\n') {
                ++current_line_;
                ++at_;
            } else if (c == ' ' || c == '\t' || c == '\r') {
                ++at_;
            } else if (c == '/' && at_ + 1 != end_ && at_[1] == '/') {
                while (at_ != end_ && *at_ != '\n')
                    ++at_;
            } else if (c == '/' && at_ + 1 != end_ && at_[1] == '*') {
                if (!skip_comment()) return;  // No rule of the parser accepts the slash.
            } else if (c == '\0') {
                at_ = end_;
            } else {
                return;
            }
        }
    }

    /// Skips /* … */. False, without skipping anything, if the end is missing.
    bool skip_comment() noexcept;

    static int digit(char c) noexcept {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return 99;
    }

    /// `count` is the required number of digits; 0 means at least one.
    void digits(int base, int count = 0) noexcept {
        bits = 0;
        overflows = false;
        is_unsigned = false;
        const char* const first = at_;
        for (; at_ != end_ && digit(*at_) < base; ++at_) {
            overflows |= __builtin_mul_overflow(bits, static_cast<unsigned>(base), &bits);
            overflows |= __builtin_add_overflow(bits, static_cast<unsigned>(digit(*at_)), &bits);
        }
        overflows |= count == 0 ? at_ == first : at_ - first != count;
        if (count == 0 && at_ != end_ && *at_ == 'U') {
            is_unsigned = true;
            ++at_;
        }
    }

    void number() noexcept {
        token = Token::integer;
        const char second = at_ + 1 != end_ ? at_[1] : ' ';
        if (*at_ == '0' && (second == 'x' || second == 'X')) {
            at_ += 2;
            digits(16);
        } else if (*at_ == '0' && (second == 'f' || second == 'F')) {
            at_ += 2;
            digits(16, 8);
            token = Token::real32;
        } else if (*at_ == '0' && (second == 'd' || second == 'D')) {
            at_ += 2;
            digits(16, 16);
            token = Token::real64;
        } else if (*at_ == '0' && (second == 'b' || second == 'B')) {
            at_ += 2;
            digits(2);
        } else {
            decimal();
        }
    }

    void decimal() noexcept;

    const char* at_;
    const char* end_;
    std::uint32_t current_line_ = 1;
};

}  // namespace lode::emulator::ptx
