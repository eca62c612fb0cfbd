/// \file
/// WorkerOptions: compilation in processes of its own.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Which compilations run in worker processes. With any policy, a request whose flags may change
/// the code of later compilations in the same process, such as CompileOptions::debug, has a worker
/// of its own; it fails with compiler_missing if lode-worker isn't found.
enum class WorkerPolicy : std::uint8_t {
    /// Requests with a limit, and if lode-worker is found: asynchronous ones, and those that begin
    /// with the same `#include` lines as an earlier one that took more than 250 ms, because a
    /// worker precompiles them. Others run in this process, which is faster for one small kernel.
    automatic,
    never,  ///< Only those that need a worker of their own; a request with a limit fails.
    always  ///< All.
};

/// What one compilation may take. It runs in a worker, which is ended at a limit.
struct CompileLimits {
    /// The time of the compilation itself, without waiting for a worker; zero is no limit.
    std::chrono::milliseconds time{0};
    /// The worker's resident memory, in bytes; 0 is no limit. Checked every 5 ms, where the system
    /// shows it. The kernel itself gives a compilation no more private memory than this.
    std::uint64_t memory_bytes = 0;

    /// Whether there is a limit.
    [[nodiscard]] bool any() const noexcept { return time.count() > 0 || memory_bytes > 0; }
    /// Compares every member.
    friend bool operator==(const CompileLimits&, const CompileLimits&) = default;
};

/// What untrusted source may reach while it is compiled.
///
/// Its worker can read only these folders, the toolkit's headers and the compiler's own files; it
/// writes nothing, starts no process and has no network and no capabilities. The worker gives up
/// these rights before the compiler gets the source (Landlock and a list of system calls,
/// Linux 5.13), so that they are gone even for a compiler that the source takes over;
/// docs/dev/cache-security.md says what such a compiler can do. It sees none of this process's
/// environment but the variables of the compiler. Links lead nowhere else. Each request has a
/// worker of its own, and the next one starts when it has answered. Results are kept apart from
/// those of other compilers in the cache, and no precompiled headers are used. Set
/// WorkerOptions::limits too: they limit what a compilation takes.
struct Jail {
    /// Folders with headers that the source may include; they must exist.
    std::vector<std::filesystem::path> readable_folders = {};
    int max_open_files = 64;  ///< At a time, including the compiler's own.
    /// The most that one compilation reads from files, in bytes.
    std::uint64_t max_read_bytes = std::uint64_t{256} << 20;

    /// Compares every member.
    friend bool operator==(const Jail&, const Jail&) = default;
};

/// Compilation in processes of its own.
///
/// Each worker is a process lode-worker, so that several compilations run at once: NVRTC's front
/// end takes a lock in a process. A compiler that crashes, hangs or takes all memory ends only its
/// own worker. The result is the same Image, byte for byte. Workers start when the cache has no
/// answer, and serve one compilation after the other unless they are in a jail. They end with the
/// last copy of the CachedCompiler or with this process, however it ends.
struct WorkerOptions {
    WorkerPolicy policy = WorkerPolicy::automatic;  ///< Which compilations run in workers.
    /// The most processes at once; 0 is one per processor. Further compilations wait.
    int max_processes = 0;
    /// The resident memory of all workers, in bytes, beyond which no further one starts; 0 is half
    /// of the machine's memory. What workers take is measured.
    std::uint64_t total_memory_bytes = 0;
    /// The program lode-worker. If empty: LODE_WORKER, else beside this program or beside the
    /// library that contains lode, else where lode was installed, as seen from either, else in the
    /// package that the host was compiled with (<lode/base/package.h>).
    std::filesystem::path program = {};
    /// The limits of every compilation, which therefore runs in a worker; a request's own limit
    /// replaces its counterpart.
    CompileLimits limits = {};
    /// Compiles untrusted source: everything runs in workers, whatever the policy, and fails with
    /// not_supported where the system has no such protection or with WorkerPolicy::never.
    std::optional<Jail> jail = std::nullopt;

    /// Options from LODE_WORKERS ("auto", "off", or a number of processes for every compilation),
    /// LODE_COMPILE_TIMEOUT (milliseconds) and LODE_COMPILE_MEMORY (bytes); LODE_WORKER is read
    /// when a worker starts. Errors: invalid_argument with the variable and its value.
    [[nodiscard]] static Result<WorkerOptions> from_environment();

    /// Compares every member.
    friend bool operator==(const WorkerOptions&, const WorkerOptions&) = default;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
