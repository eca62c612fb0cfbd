// The compiler's log, shortened for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lode::tool {

/// The first errors of a compiler's log as the compiler printed them, with source line and caret:
/// those in the user's own files before those in the compiler's and the toolkit's headers, which
/// are named by absolute paths. Each is cut after a few lines, and a last line counts what is left
/// out and names --log. A log with nothing to leave out, or without errors, is returned whole.
[[nodiscard]] std::string first_errors(std::string_view log);

}  // namespace lode::tool
