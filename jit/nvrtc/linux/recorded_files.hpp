// Recorded files: what NVRTC's fopen and stat return while lode compiles (file_hooks.hpp).
#pragma once

#include "jit/files/file_accesses.hpp"

#include <cstdio>

#include <sys/stat.h>

namespace LODE_NAMESPACE {

/// fopen() for reading: the recorded content. The file must be closed before `accesses` ends. As
/// fopen(), it returns nullptr and sets errno on failure; it can run out of memory.
[[nodiscard]] std::FILE* open_recorded(FileAccesses& accesses, const char* path);

/// stat(), with its result and errno; it can run out of memory.
[[nodiscard]] int look_recorded(FileAccesses& accesses, const char* path, struct stat* status);

}  // namespace LODE_NAMESPACE
