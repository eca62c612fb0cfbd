// The worker processes of one CachedCompiler.
#pragma once

#include "jit/worker/process.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/workers.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lode::worker {

/// Starts nothing until the first request. Thread-safe. The destructor ends all processes; no
/// request may be in progress.
class Pool {
public:
    /// `jail` is the argument for workers in a jail (jail.hpp); empty for others.
    explicit Pool(WorkerOptions options, std::string jail = {})
        : options_(std::move(options)), jail_(std::move(jail)) {}

    /// Compiles in the next free process. A process that something else ended is replaced, and the
    /// request repeated once. After a crash of the compiler it is repeated without a precompiled
    /// header, where one may be the reason. Errors: those of the compilation, of
    /// Process::run() and of find_program().
    [[nodiscard]] Result<Answer> compile(const Request& request);

    /// The number of processes, busy or idle.
    [[nodiscard]] std::size_t size() const;

private:
    using Held = std::unique_ptr<Process>;

    /// A free process, or a new one; waits while there are too many.
    [[nodiscard]] Result<Held> acquire();
    void release(Held process);
    [[nodiscard]] Result<Held> start() const;

    const WorkerOptions options_;
    const std::string jail_;
    mutable std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Held> idle_;
    std::size_t running_ = 0;  ///< Busy and idle.
};

}  // namespace lode::worker
