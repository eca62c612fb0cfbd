// AsyncTasks: runs the work of asynchronous requests, on lode's threads or the host's executor.
#pragma once

#include "base/task_queue.hpp"

#include <lode/base/pending.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace LODE_NAMESPACE::cache {

/// Thread-safe. May be destroyed by one of its tasks.
class AsyncTasks {
public:
    /// With an empty executor, `slow_threads` threads run slow tasks.
    AsyncTasks(Executor executor, std::size_t slow_threads);

    /// Slow tasks start in the order of their numbers, if the host's executor doesn't decide it.
    /// Tasks that haven't started when the process ends are destroyed.
    void post(TaskQueue::Lane lane, std::function<void()> task, std::uint64_t order = 0);

    /// Whether shut_down() was called or the process ends: tasks should end soon.
    [[nodiscard]] bool is_stopping() const noexcept;

    /// Asks all tasks to end, and waits for those that run; with threads of its own also for those
    /// that are queued. Called from one of its tasks, or in a forked child, it doesn't wait.
    void shut_down() noexcept;

private:
    struct Shared;
    class Running;
    TaskQueue& queue();

    const Executor executor_;
    const std::size_t slow_threads_;
    const std::shared_ptr<Shared> shared_;
    std::once_flag once_;
    std::optional<TaskQueue> queue_;
};

}  // namespace LODE_NAMESPACE::cache
