// A section of `lode info`, as text and as JSON.
#pragma once

#include "tools/lode/layout.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/source.hpp>

#include <cstddef>
#include <string>

namespace lode::tool {

/// The width of lists in rows: with its label, a line has at most 80 columns.
inline constexpr std::size_t list_width = 56;

/// One section of the output.
struct Part {
    std::string text;
    Json json;
};

/// The section to the terminal's width; nothing for one without rows.
[[nodiscard]] std::string text_of(const Section& section);

/// The section for something that isn't there.
[[nodiscard]] Part missing(std::string title, const Error& error);

/// A language's compiler. Only that of CUDA C++ is needed by most applications.
[[nodiscard]] Part compiler_part(const Compiler& compiler, Source::Language language, bool all);

}  // namespace lode::tool
