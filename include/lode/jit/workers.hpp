/// \file
/// WorkerOptions: compilation in processes of its own.
#pragma once

#include <lode/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace lode {

/// What untrusted source may reach while it is compiled.
///
/// Its worker can read only these folders, the toolkit's headers and the compiler's own files; it
/// writes nothing, starts no program and has no network. The worker gives up these rights before it
/// gets the source (Landlock and a system call filter, Linux 5.13), so that they are gone even for
/// a compiler that the source takes over. It sees none of this process's environment but the
/// variables of the compiler. Links lead nowhere else. Results are kept apart from those of other
/// compilers in the cache, and no precompiled headers are used. Set WorkerOptions::timeout and
/// memory_bytes too: they limit what a compilation takes.
struct Jail {
    /// Folders with headers that the source may include; they must exist.
    std::vector<std::filesystem::path> readable_folders = {};
    int max_open_files = 64;  ///< At a time, including the compiler's own.
    /// The most that one compilation reads from files, in bytes.
    std::uint64_t max_read_bytes = std::uint64_t{256} << 20;

    /// Compares every member.
    friend bool operator==(const Jail&, const Jail&) = default;
};

/// Where compilations run, and what one of them may take.
///
/// With workers, each compilation runs in a process lode-worker, so that several run at once
/// (NVRTC's front end takes a lock in a process), and a compiler that crashes, hangs or takes all
/// memory ends only its own worker. The result is the same Image, byte for byte. Workers start when
/// the cache has no answer, serve one compilation after the other, and end with the last copy of
/// the CachedCompiler or with this process, however it ends.
struct WorkerOptions {
    /// The most processes at once; 0 compiles in this process. Further compilations wait.
    int max_processes = 0;
    /// The program lode-worker. If empty: LODE_WORKER, else beside this program or beside the
    /// library that contains lode, else where lode was installed.
    std::filesystem::path program = {};
    /// The time of one compilation, after which its worker is ended; zero is no limit.
    std::chrono::milliseconds timeout{0};
    /// The resident memory of a worker, in bytes, at which it is ended; 0 is no limit. Checked
    /// every 5 ms.
    std::uint64_t memory_bytes = 0;
    /// Compiles untrusted source; then max_processes is at least 1. Where the system has no such
    /// protection, every compilation fails with not_supported.
    std::optional<Jail> jail = std::nullopt;

    /// Options from LODE_WORKERS, LODE_COMPILE_TIMEOUT (milliseconds) and LODE_COMPILE_MEMORY
    /// (bytes); LODE_WORKER is read when a worker starts. Errors: invalid_argument with the
    /// variable and its value.
    [[nodiscard]] static Result<WorkerOptions> from_environment();

    /// Compares every member.
    friend bool operator==(const WorkerOptions&, const WorkerOptions&) = default;
};

}  // namespace lode
