// File hooks: NVRTC's file functions, answered by a FileAccesses while lode compiles.
//
// NVRTC reads headers by itself and doesn't report which ones, nor where it searched in vain. It
// calls the C library's file functions through its own import table, where lode installs its own
// functions: they forward to the C library, except on a thread that has a FileAccesses in force,
// which then gives the answers. Other users of the same NVRTC in the process aren't affected.
#pragma once

#include "jit/files/file_accesses.hpp"

namespace lode {

/// Watches the shared library that contains `symbol`, once per process; true if it is watched.
/// False if the library doesn't import the known functions, or if its import table can't be
/// written. Thread-safe. Stays until the process ends: this code is never unloaded afterwards.
[[nodiscard]] bool watch_file_functions(const void* symbol) noexcept;

/// While it exists, a watched library's queries on this thread go to `accesses`.
class FileAccessScope {
public:
    explicit FileAccessScope(FileAccesses& accesses) noexcept;
    ~FileAccessScope();
    FileAccessScope(const FileAccessScope&) = delete;
    FileAccessScope& operator=(const FileAccessScope&) = delete;

private:
    FileAccesses* outer_;
};

}  // namespace lode
