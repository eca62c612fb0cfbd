// A scan of source text for the headers that it mentions; not a preprocessor.
//
// It doesn't decide what a compilation reads (collect.hpp does), only whether the compilation's
// header set holds in other folders too.
// Conservative: anything that may be a directive counts as one, including in comments, strings and
// inactive regions.
#pragma once

#include <lode/base/api.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// One place where a text names a header.
struct IncludeMention {
    enum class Form : unsigned char { include, include_next, has_include };

    Form form = Form::include;
    bool quoted = false;
    std::string name;  ///< Between the quotes or brackets.

    friend bool operator==(const IncludeMention&, const IncludeMention&) = default;
};

/// Everything in a text that affects a header list.
struct IncludeScan {
    std::vector<IncludeMention> mentions;
    bool computed = false;  ///< An #include or __has_include may name its header by a macro.
};

[[nodiscard]] IncludeScan scan_includes(std::string_view text);

/// Whether a text can't read any header: it contains no form of "include" and can't form one.
[[nodiscard]] bool is_free_of_includes(std::string_view text);

}  // namespace LODE_NAMESPACE::cache
