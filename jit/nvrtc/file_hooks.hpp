// File hooks: NVRTC's file functions, answered by a FileAccesses while lode compiles.
//
// NVRTC reads headers by itself and doesn't report which ones, nor where it searched in vain. It
// calls the C library's file functions through its own import table, where lode installs its own
// functions: they forward to the C library, except on a thread that has a FileAccesses in force,
// which then gives the answers. Other users of the same NVRTC in the process aren't affected.
#pragma once

#include "jit/files/file_accesses.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace LODE_NAMESPACE {

/// Whether a compiler asks the C library for the time: NVRTC does, for __TIME__.
enum class TimeQuestions : std::uint8_t { asked, none };

/// Watches the shared library that contains `symbol`, once per process. Several copies of lode may
/// watch one library: each forwards what it isn't asked for to those before it. Thread-safe. Stays
/// until the process ends: this code is never unloaded afterwards. Errors: not_supported, with the
/// reason, if the library doesn't import the known functions, if its import table can't be written,
/// or if eight others are watched.
[[nodiscard]] Status watch_file_functions(const void* symbol, TimeQuestions time);

/// Watches what a library calculates with the C library, and orders its exit handlers after lode's
/// own (process_end.hpp). Not if eight other libraries are watched. Thread-safe.
void watch_calculations(const void* symbol) noexcept;

/// How often code other than lode's has compiled with a watched library: a compiler that others use
/// too may be in a state that lode doesn't know. Other copies of lode leave no traces in it, and
/// don't count.
[[nodiscard]] std::uint64_t count_of_foreign_compilations() noexcept;

/// The precompiled header that a compilation makes or uses. That file isn't recorded, nor are
/// NVRTC's temporary files, which it has only then.
struct PchFile {
    std::string path;
    /// What had been asked when NVRTC began to write the file: what the head of the source depends
    /// on. nullopt if it didn't write it.
    std::optional<FileRecord> head = std::nullopt;
};

/// While it exists, a watched library's queries on this thread go to `accesses`.
class FileAccessScope {
public:
    /// `pch` may be nullptr; it must outlive the scope.
    explicit FileAccessScope(FileAccesses& accesses, PchFile* pch = nullptr) noexcept;
    ~FileAccessScope();
    FileAccessScope(const FileAccessScope&) = delete;
    FileAccessScope& operator=(const FileAccessScope&) = delete;

private:
    FileAccesses* outer_;
    PchFile* outer_pch_;
};

}  // namespace LODE_NAMESPACE
