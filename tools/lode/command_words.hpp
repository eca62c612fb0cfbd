// Errors in the words of the command line.
#pragma once

#include <lode/base/error.hpp>

namespace lode::tool {

/// The same error, with the command's option in place of each member of the C++ interface that the
/// message names: "--tile" for "CompileOptions::tile".
[[nodiscard]] Error in_command_words(Error error);

}  // namespace lode::tool
