// Parses the compiler's log into diagnostics.
#pragma once

#include <lode/base/image.hpp>

#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// Parses all messages of a log: the front end's "file(line): error #n: text" with its caret and
/// instantiation lines, "Command-line error", "nvrtc: error", and ptxas's own forms. A message
/// about the assembler's input has that input as its file. Counts, hints and other lines that
/// belong to no message are left out. The column counts bytes, from 1.
std::vector<Diagnostic> parse_diagnostics(std::string_view log);

}  // namespace LODE_NAMESPACE
