// The logs of libNVVM and LLVM.
#pragma once

#include <lode/base/image.hpp>

#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::nvvm {

/// The messages of a log: "a.ll (3, 19): parse expected type", "a.ll:3:19: error: text", "a.ll:
/// error: text" and "error: text". Other lines aren't messages, except the first one of a log that
/// has no others, if the compilation failed.
[[nodiscard]] std::vector<Diagnostic> parse_log(std::string_view log, bool has_failed);

}  // namespace LODE_NAMESPACE::nvvm
