// The head of a source: what a precompiled header can stand for.
#pragma once

#include <lode/base/api.hpp>

#include <string_view>

namespace LODE_NAMESPACE::pch {

/// The comments, blank lines and directives at the head of a source, up to the end of its last
/// complete #include line outside every #if; empty if there is none. Ends with a newline.
///
/// Stops before anything else: declarations, #pragma, #line, unknown directives, and directives
/// that this scan can't follow.
[[nodiscard]] std::string_view header_prefix(std::string_view code);

}  // namespace LODE_NAMESPACE::pch
