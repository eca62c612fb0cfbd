// AsyncTasks: runs the work of asynchronous requests, on lode's threads or the host's executor.
#pragma once

#include "base/os/process.hpp"
#include "base/task_queue.hpp"
#include "jit/cache/request_gate.hpp"

#include <lode/base/pending.hpp>

#include <atomic>
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
    /// Tasks that haven't started when the process ends are destroyed. Waits while the gate is
    /// closed, unless the host has an executor: then the task waits.
    void post(TaskQueue::Lane lane, std::function<void()> task, std::uint64_t order = 0);

    /// Running tasks are inside, and so are those that lode's own threads have yet to run.
    [[nodiscard]] RequestGate& gate() const noexcept { return *gate_; }

    /// Ends the threads; the next task starts them again. The gate must be closed.
    void quiesce() noexcept;

    /// Whether shut_down() was called or the process ends: tasks should end soon.
    [[nodiscard]] bool is_stopping() const noexcept;

    /// Asks all tasks to end, and waits for those inside. Called from one of its tasks, or in a
    /// forked child, it doesn't wait.
    void shut_down() noexcept;

private:
    TaskQueue& queue();

    const Executor executor_;
    const std::size_t slow_threads_;
    const os::ProcessId process_;
    const std::shared_ptr<RequestGate>
        gate_;  ///< Shared with the tasks, which may destroy this object.
    std::atomic<bool> is_stopping_ = false;
    std::mutex mutex_;
    std::optional<TaskQueue> queue_;
};

}  // namespace LODE_NAMESPACE::cache
