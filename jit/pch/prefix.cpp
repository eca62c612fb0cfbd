#include "jit/pch/prefix.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace LODE_NAMESPACE::pch {
namespace {

constexpr std::string_view blanks = " \t\v\f\r";

bool is_blank(char c) noexcept {
    return blanks.find(c) != std::string_view::npos;
}

/// Reads logical lines: joined at backslashes, without comments.
class Lines {
public:
    explicit Lines(std::string_view code) noexcept : code_(code) {}

    /// The next line without its comments; false at the end, and where a line has no newline or is
    /// too unusual to follow.
    bool next(std::string& line) {
        line.clear();
        while (at_ < code_.size()) {
            if (skip_join() || skip_comment(line)) continue;
            if (at_ >= code_.size()) return false;
            const char c = code_[at_++];
            if (c == '\n') return true;
            line += c;
            if ((c == '"' || c == '\'') && !copy_literal(c, line)) return false;
        }
        return false;
    }

    /// Where the next line begins.
    [[nodiscard]] std::size_t at() const noexcept { return at_; }

private:
    bool skip_join() noexcept {
        if (code_[at_] != '\\') return false;
        std::size_t end = at_ + 1;
        while (end < code_.size() && is_blank(code_[end]))
            ++end;
        if (end >= code_.size() || code_[end] != '\n') return false;
        at_ = end + 1;
        return true;
    }

    bool skip_comment(std::string& line) noexcept {
        const auto rest = code_.substr(at_);
        if (rest.starts_with("//")) {
            // A joined line continues the comment.
            while (at_ < code_.size() && code_[at_] != '\n') {
                if (!skip_join()) ++at_;
            }
            return true;
        }
        if (!rest.starts_with("/*")) return false;
        const auto end = code_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? code_.size() : end + 2;
        line += ' ';
        return true;
    }

    /// Copies the rest of a literal; false for a raw string, which may span lines.
    bool copy_literal(char quote, std::string& line) {
        if (quote == '"' && line.size() >= 2 && line[line.size() - 2] == 'R') return false;
        while (at_ < code_.size() && code_[at_] != '\n') {
            if (skip_join()) continue;
            const char c = code_[at_++];
            line += c;
            if (c == quote) return true;
            if (c == '\\' && at_ < code_.size() && code_[at_] != '\n') line += code_[at_++];
        }
        return true;  // Unterminated: the compiler reports it.
    }

    std::string_view code_;
    std::size_t at_ = 0;
};

enum class Directive : unsigned char { other, include, opens, closes, harmless };

Directive directive_of(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks, 1), line.size()));
    const auto word = line.substr(0, line.find_first_of(" \t\v\f\r\"<("));
    if (word.empty() || word == "define" || word == "undef" || word == "elif" || word == "else" ||
        word == "elifdef" || word == "elifndef")
        return Directive::harmless;
    if (word == "include") return Directive::include;
    if (word == "if" || word == "ifdef" || word == "ifndef") return Directive::opens;
    return word == "endif" ? Directive::closes : Directive::other;
}

}  // namespace

std::string_view header_prefix(std::string_view code) {
    Lines lines(code);
    std::string line;
    std::size_t end = 0;
    std::size_t depth = 0;
    bool has_include = false;
    while (lines.next(line)) {
        line.erase(0, std::min(line.find_first_not_of(blanks), line.size()));
        if (line.empty()) continue;
        if (line[0] != '#') break;
        const Directive directive = directive_of(line);
        if (directive == Directive::other || (directive == Directive::closes && depth == 0)) break;
        if (directive == Directive::opens) ++depth;
        if (directive == Directive::closes) --depth;
        has_include = has_include || directive == Directive::include;
        if (depth == 0 && has_include) {
            end = lines.at();
            has_include = false;
        }
    }
    return code.substr(0, end);
}

}  // namespace LODE_NAMESPACE::pch
