// The worker processes of one CachedCompiler.
#pragma once

#include "jit/worker/process.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/workers.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::worker {

/// Starts nothing until the first request. Thread-safe. The destructor ends all processes; no
/// request may be in progress. What a request throws (std::bad_alloc) ends its process.
class Pool {
public:
    /// `jail` is the argument for workers in a jail (jail.hpp); empty for others. A process in a
    /// jail serves one request, and another one starts when it has answered.
    explicit Pool(WorkerOptions options, std::string jail = {});

    /// Compiles in the next free process. A process that something else ended is replaced, and the
    /// request repeated once. After a crash of the compiler it is repeated without a precompiled
    /// header, where one may be the reason. Errors: those of the compilation, of Process::run() and
    /// of find_program(); cancelled while it waits for a process.
    [[nodiscard]] Result<Answer> compile(const Request& request, const CompileControl& control);

    /// Whether lode-worker is there; searches once. Errors: those of find_program().
    [[nodiscard]] Status find();

    /// Ends the processes that serve no request; later requests start new ones.
    void quiesce() noexcept;

    /// The number of processes, busy or idle.
    [[nodiscard]] std::size_t size() const;

private:
    using Held = std::unique_ptr<Process>;

    /// A place among the processes, with one in it; released with the object.
    class Lease {
    public:
        /// `is_last`: whether the request is the process's last.
        Lease(Pool& pool, Held process, bool is_last) noexcept
            : pool_(&pool), process_(std::move(process)), is_last_(is_last) {}
        ~Lease() {
            if (pool_ != nullptr) pool_->release(std::move(process_), is_last_);
        }
        Lease(Lease&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)),
              process_(std::move(other.process_)),
              is_last_(other.is_last_) {}
        Lease& operator=(Lease&&) = delete;
        [[nodiscard]] Held& process() noexcept { return process_; }
        void make_last() noexcept { is_last_ = true; }

    private:
        Pool* pool_;
        Held process_;
        bool is_last_;
    };

    /// A free process, or a new one; waits while there are too many.
    [[nodiscard]] Result<Lease> acquire(const Request& request, const CompileControl& control);
    /// Keeps a process for the next request, unless it has failed, was given its last one or is
    /// large.
    void release(Held process, bool is_last) noexcept;
    [[nodiscard]] Result<Held> start();
    /// A new process in the place of one in a jail; null if it can't be started now.
    [[nodiscard]] Held start_next() noexcept;
    /// Whether another process may start. Needs the mutex.
    [[nodiscard]] bool has_room() const;

    const WorkerOptions options_;
    const std::string jail_;
    mutable std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Held> idle_;  ///< Like busy_, with capacity for all running ones.
    std::vector<const Process*> busy_;
    std::size_t running_ = 0;  ///< Busy, idle and starting.
    /// The most memory that a process had after its answer, in bytes.
    std::uint64_t largest_use_;

    std::mutex program_mutex_;
    std::optional<Result<std::filesystem::path>> program_;
};

}  // namespace LODE_NAMESPACE::worker
