// A scan of source text for the headers that it mentions; not a preprocessor.
//
// It decides nothing about what a compilation reads (header_collect.hpp does), only whether its
// header set holds in other folders too, and which texts may put times and paths into the code.
// Conservative: what may be a directive counts as one, in comments, strings and inactive regions
// too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::cache {

/// One place where a text names a header.
struct IncludeMention {
    enum class Form : unsigned char { include, include_next, has_include };

    Form form = Form::include;
    bool quoted = false;
    std::string name;  ///< Between the quotes or brackets.

    friend bool operator==(const IncludeMention&, const IncludeMention&) = default;
};

/// Everything in one text that a header list depends on.
struct IncludeScan {
    std::vector<IncludeMention> mentions;
    bool computed = false;  ///< An #include or __has_include may name its header by a macro.
};

[[nodiscard]] IncludeScan scan_includes(std::string_view text);

/// Whether a text can't read any header: no form of "include" appears in it, nor can one be made.
[[nodiscard]] bool is_free_of_includes(std::string_view text);

/// Whether a text may use one of the words: it says so, across joined lines too, or has a token
/// that is the beginning of one and may be completed by ##.
[[nodiscard]] bool may_say_any(std::string_view text, std::span<const std::string_view> words);

}  // namespace lode::cache
