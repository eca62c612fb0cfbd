/// \file
/// WorkerOptions: compilation in processes of its own.
#pragma once

#include <lode/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace lode {

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

    /// Options from LODE_WORKERS, LODE_COMPILE_TIMEOUT (milliseconds) and LODE_COMPILE_MEMORY
    /// (bytes); LODE_WORKER is read when a worker starts. Errors: invalid_argument with the
    /// variable and its value.
    [[nodiscard]] static Result<WorkerOptions> from_environment();

    /// Compares every member.
    friend bool operator==(const WorkerOptions&, const WorkerOptions&) = default;
};

}  // namespace lode
