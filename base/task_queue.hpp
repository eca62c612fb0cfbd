// TaskQueue: threads that run tasks, in two lanes.
#pragma once

#include "base/os/process.hpp"

#include <lode/base/api.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace LODE_NAMESPACE {

/// Threads start when tasks arrive. Quick tasks start in the order of their arrival and before slow
/// ones; a few threads take only quick ones, so that these never wait for slow ones to end, and one
/// that takes longer than expected doesn't delay the others. Slow ones start in the order of their
/// numbers. Thread-safe.
class TaskQueue {
public:
    enum class Lane : std::uint8_t { quick, slow };
    /// How many threads take only quick tasks, at most.
    static constexpr std::size_t quick_threads = 4;

    /// At most `slow_threads` slow tasks run at once.
    explicit TaskQueue(std::size_t slow_threads);
    /// Runs what is queued and waits for it, except for the calling thread's own task if it is one
    /// of this queue's. In a forked child, where the threads don't exist, does nothing.
    ~TaskQueue();
    TaskQueue(const TaskQueue&) = delete;
    TaskQueue& operator=(const TaskQueue&) = delete;

    /// `order` is the number of a slow task. If the system starts no thread for it, the task runs
    /// here.
    void post(Lane lane, std::function<void()> task, std::uint64_t order = 0);

private:
    struct Shared;
    /// Does nothing if the system refuses.
    void start_thread(bool only_quick);

    std::shared_ptr<Shared> shared_;
    std::vector<std::thread> threads_;  ///< Guarded by the mutex in shared_.
    std::size_t slow_threads_;
    os::ProcessId process_;
};

}  // namespace LODE_NAMESPACE
