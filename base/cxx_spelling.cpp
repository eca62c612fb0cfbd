// Canonical spelling of C++ names.
#include "base/cxx_names.hpp"
#include "base/identifier.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// Words, numbers, character literals, "::" and single characters; no blanks.
std::vector<std::string_view> tokens_of(std::string_view text) {
    std::vector<std::string_view> tokens;
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t end = at + 1;
        if (is_symbol_character(text[at])) {
            const bool number = is_digit(text[at]);
            while (end < text.size() &&
                   (is_symbol_character(text[end]) || (number && text[end] == '\'')))
                ++end;
        } else if (text.substr(at).starts_with("::")) {
            ++end;
        } else if (text[at] == '\'' && at + 2 < text.size() && text[at + 2] == '\'') {
            end = at + 3;
        }
        if (std::isspace(static_cast<unsigned char>(text[at])) == 0)
            tokens.push_back(text.substr(at, end - at));
        at = end;
    }
    return tokens;
}

constexpr std::array<std::string_view, 5> integer_words{"unsigned", "signed", "long", "short",
                                                        "int"};

/// Type aliases that are the same on every platform CUDA supports.
struct Alias {
    std::string_view name;
    std::string_view type;
};
constexpr Alias aliases[] = {
    {"int8_t", "signed char"},    {"int16_t", "short"},           {"int32_t", "int"},
    {"uint8_t", "unsigned char"}, {"uint16_t", "unsigned short"}, {"uint32_t", "unsigned int"},
    {"size_t", "unsigned long"},  {"ptrdiff_t", "long"},
};
/// `long` with some compilers, `long long` with others.
constexpr Alias loose_aliases[] = {{"int64_t", "long"}, {"uint64_t", "unsigned long"}};

template <class Range, class Value>
bool is_in(const Range& range, const Value& value) {
    return std::ranges::find(range, value) != std::ranges::end(range);
}

/// "unsigned long" for {"long", "unsigned", "int"}; `words` holds at least one.
std::string integer_type(const std::vector<std::string_view>& words, bool is_char,
                         Spelling spelling) {
    const auto longs = std::ranges::count(words, "long");
    const bool is_unsigned = is_in(words, "unsigned");
    if (is_char) return is_unsigned ? "unsigned char" : "signed char";
    std::string type = is_unsigned ? "unsigned " : "";
    if (is_in(words, "short")) return type + "short";
    if (longs == 0) return type + "int";
    return type + (longs == 1 || spelling == Spelling::loose ? "long" : "long long");
}

/// The value of an integer literal and the type that its suffix gives; nullopt for other words.
struct Number {
    std::string value;
    std::string type;
};
std::optional<Number> number_of(std::string_view word) {
    if (word == "true" || word == "false") return Number{word == "true" ? "1" : "0", "bool"};
    if (word.size() == 3 && word.front() == '\'')
        return Number{std::to_string(static_cast<int>(word[1])), "char"};
    if (word.empty() || !is_digit(word[0])) return std::nullopt;
    std::string digits;
    std::ranges::copy_if(word, std::back_inserter(digits), [](char c) { return c != '\''; });
    const auto suffix_at = digits.find_last_not_of("uUlL") + 1;
    std::string suffix = digits.substr(suffix_at);
    digits.resize(suffix_at);
    int base = 10;
    std::string_view rest = digits;
    if (rest.starts_with("0x") || rest.starts_with("0X")) {
        base = 16;
        rest.remove_prefix(2);
    } else if (rest.starts_with("0b") || rest.starts_with("0B")) {
        base = 2;
        rest.remove_prefix(2);
    } else if (rest.size() > 1 && rest[0] == '0') {
        base = 8;
    }
    std::uint64_t value = 0;
    const auto [end, problem] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (problem != std::errc{} || end != rest.data() + rest.size()) return std::nullopt;
    const bool is_unsigned = suffix.find_first_of("uU") != std::string::npos;
    const auto longs = std::ranges::count_if(suffix, [](char c) { return c == 'l' || c == 'L'; });
    std::string type = is_unsigned ? "unsigned " : "";
    type += longs == 0 ? "int" : longs == 1 ? "long" : "long long";
    return Number{std::to_string(value), std::move(type)};
}

/// Rewrites a name token by token.
class Writer {
public:
    Writer(std::vector<std::string_view> tokens, Spelling spelling)
        : tokens_(std::move(tokens)), spelling_(spelling) {}

    std::string write() { return list(""); }

private:
    // Names nest and input is arbitrary: beyond this depth, tokens are copied.
    static constexpr int deepest = 64;

    [[nodiscard]] std::string_view peek(std::size_t ahead = 0) const {
        return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : std::string_view();
    }
    bool take(std::string_view token) {
        if (peek() != token) return false;
        ++at_;
        return true;
    }

    /// Everything up to `closing` or the end.
    std::string list(std::string_view closing) {
        ++depth_;
        std::string text;
        while (at_ < tokens_.size() && (closing.empty() || peek() != closing)) {
            if (auto literal = number(); !literal.empty()) {
                text += literal;
            } else if (peek() == "::" || is_symbol_character(peek().front())) {
                text += chunk();
            } else if (peek() == "(" && depth_ < deepest) {
                ++at_;
                const std::string inner = list(")");
                take(")");
                text += inner == "void" ? "()" : "(" + inner + ")";
            } else {
                text += tokens_[at_++];
            }
        }
        --depth_;
        return text;
    }

    /// A number, with or without a cast in front: "3", "-3", "(short)3"; else empty.
    std::string number() {
        const std::size_t begin = at_;
        std::string cast;
        if (take("(")) {
            while (!peek().empty() && (peek() == "::" || is_symbol_character(peek().front())))
                cast += std::string(cast.empty() ? "" : " ") + std::string(tokens_[at_++]);
            if (cast.empty() || !take(")")) return rewind(begin);
        }
        const bool is_negative = take("-");
        const auto literal = peek().empty() ? std::nullopt : number_of(peek());
        if (!literal) return rewind(begin);
        ++at_;
        std::string value = (is_negative ? "-" : "") + literal->value;
        if (spelling_ == Spelling::loose) return value;
        const std::string type = cast.empty() ? literal->type : canonical_name(cast, spelling_);
        if (type == "bool") return literal->value == "0" ? "false" : "true";
        return type == "int" ? value : fmt::format("({}){}", type, value);
    }
    std::string rewind(std::size_t begin) {
        at_ = begin;
        return {};
    }

    /// Adjacent words and names: one type, its words in canonical order.
    std::string chunk() {
        std::vector<std::string_view> integers;
        std::string name;
        bool is_const = false;
        bool is_volatile = false;
        bool is_char = false;
        while (at_ < tokens_.size() && (peek() == "::" || is_symbol_character(peek().front()))) {
            constexpr std::array<std::string_view, 5> kinds{"struct", "class", "enum", "union",
                                                            "typename"};
            const auto word = peek();
            if (is_in(kinds, word)) {
                ++at_;
            } else if (word == "const") {
                is_const = ++at_ != 0;
            } else if (word == "volatile") {
                is_volatile = ++at_ != 0;
            } else if (is_in(integer_words, word)) {
                integers.push_back(word);
                ++at_;
            } else {
                is_char = word == "char";
                name += (name.empty() ? "" : " ") + qualified();
            }
        }
        if (name == "double" && is_in(integers, "long")) {
            name = "long double";
        } else if (!integers.empty()) {
            const std::string type = integer_type(integers, is_char, spelling_);
            name = name.empty() || is_char ? type : type + " " + name;
        }
        for (const auto& [wanted, word] : {std::pair{is_const, "const"}, {is_volatile, "volatile"}})
            if (wanted) name += (name.empty() ? "" : " ") + std::string(word);
        return name;
    }

    /// "ns::list<float>::item", without a leading "::", aliases resolved.
    std::string qualified() {
        take("::");
        std::string name;
        do {
            if (!peek().empty() && is_symbol_character(peek().front())) name += tokens_[at_++];
            if (peek() == "<" && depth_ < deepest) {
                ++at_;
                name += "<" + list(">") + ">";
                take(">");
            }
            if (peek() == "::") name += "::";
        } while (take("::"));
        const std::string_view plain =
            name.starts_with("std::") ? std::string_view(name).substr(5) : name;
        for (const auto& [alias, type] : aliases)
            if (plain == alias) return std::string(type);
        if (spelling_ == Spelling::exact) return name;
        for (const auto& [alias, type] : loose_aliases)
            if (plain == alias) return std::string(type);
        return name;
    }

    std::vector<std::string_view> tokens_;
    Spelling spelling_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

std::string canonical_name(std::string_view name, Spelling spelling) {
    return Writer(tokens_of(name), spelling).write();
}

}  // namespace LODE_NAMESPACE
