// The headers that NVRTC opened, from the time trace that --fdevice-time-trace writes (12.8).
#pragma once

#include <lode/base/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace lode::cache {

/// The header files of a time trace as the compiler spelled them ("folder/name as written"; an
/// in-memory header by its name), each once, in no particular order. Without NVRTC's own built-in
/// header. Survives any text. Errors: compiler_failed when it isn't a trace.
[[nodiscard]] Result<std::vector<std::string>> headers_of_trace(std::string_view json);

}  // namespace lode::cache
