// A scan of source text for the headers that it mentions; not a preprocessor.
//
// Conservative: what may be a directive counts as one, in comments, strings and inactive regions
// too. A header named too often costs a look at the file system; one that is missed could serve
// stale code.
#pragma once

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
    bool computed = false;            ///< An #include or __has_include names its header by a macro.
    bool has_line_directive = false;  ///< #line, or "# 1" as a preprocessor writes it.
};

[[nodiscard]] IncludeScan scan_includes(std::string_view text);

/// Whether a text can't read any header: no form of "include" appears in it.
[[nodiscard]] bool is_free_of_includes(std::string_view text);

}  // namespace lode::cache
