// File hooks: NVRTC's file functions, answered by a FileAccesses while lode compiles.
//
// NVRTC reads headers by itself and tells nobody which, nor where it looked for them in vain. It
// takes its file functions from the C library through its own import table, and that is where
// lode puts functions of its own: they go to the C library as before, except on a thread that has
// a FileAccesses in force, which then gives the answers. Other users of the same NVRTC in the
// process notice nothing.
#pragma once

#include "jit/files/file_accesses.hpp"

namespace lode {

/// Watches the shared library that `symbol` is in, once; true when it is watched. False where the
/// library doesn't import the functions that are known, or its import table can't be written.
/// Thread-safe. Stays until the process ends: this code is never unloaded after it.
[[nodiscard]] bool watch_file_functions(const void* symbol) noexcept;

/// While it lives, a watched library's questions on this thread go to `accesses`.
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
