// The worker processes of one CachedCompiler.
#pragma once

#include "jit/worker/process.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/workers.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lode::worker {

/// Starts nothing until the first request. Thread-safe. The destructor ends all processes; no
/// request may be in progress.
class Pool {
public:
    /// `jail` is the argument for workers in a jail (jail.hpp); empty for others.
    explicit Pool(WorkerOptions options, std::string jail = {});

    /// Compiles in the next free process. A process that something else ended is replaced, and the
    /// request repeated once. After a crash of the compiler it is repeated without a precompiled
    /// header, where one may be the reason. Errors: those of the compilation, of Process::run() and
    /// of find_program(); cancelled while it waits for a process.
    [[nodiscard]] Result<Answer> compile(const Request& request, const CompileControl& control);

    /// Whether lode-worker is there; searches once. Errors: those of find_program().
    [[nodiscard]] Status find();

    /// The number of processes, busy or idle.
    [[nodiscard]] std::size_t size() const;

private:
    using Held = std::unique_ptr<Process>;

    /// A free process, or a new one; waits while there are too many.
    [[nodiscard]] Result<Held> acquire(const Request& request, const CompileControl& control);
    /// Keeps a process for the next request, unless it has failed, is spent or is large.
    void release(Held process, bool is_spent);
    [[nodiscard]] Result<Held> start();
    /// Whether another process may start. Needs the mutex.
    [[nodiscard]] bool has_room() const;

    const WorkerOptions options_;
    const std::string jail_;
    mutable std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Held> idle_;
    std::map<const Process*, pid_t> busy_;
    std::size_t running_ = 0;  ///< Busy, idle and starting.
    /// The most memory that a process had after its answer, in bytes.
    std::uint64_t largest_use_;

    std::mutex program_mutex_;
    std::optional<Result<std::filesystem::path>> program_;
};

}  // namespace lode::worker
