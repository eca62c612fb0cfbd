#include "jit/cache/async_tasks.hpp"

#include "base/os/process.hpp"
#include "base/process_end.hpp"

#include <atomic>
#include <condition_variable>
#include <utility>

namespace LODE_NAMESPACE::cache {

struct AsyncTasks::Shared {
    std::mutex mutex;
    std::condition_variable ended;
    std::size_t outstanding = 0;  ///< Running, and queued on lode's own threads.
    std::atomic<bool> is_stopping = false;
    const os::ProcessId process = os::process_id();

    void begin() {
        const std::lock_guard guard(mutex);
        ++outstanding;
    }
    void end() {
        {
            const std::lock_guard guard(mutex);
            --outstanding;
        }
        ended.notify_all();
    }
};

namespace {

/// A task that this thread runs, and those around it: an executor may run tasks inside of tasks.
struct RunningTask {
    const void* owner;
    const RunningTask* outer;
};

thread_local const RunningTask* innermost_task = nullptr;

bool is_inside(const void* owner) {
    for (const auto* task = innermost_task; task != nullptr; task = task->outer) {
        if (task->owner == owner) return true;
    }
    return false;
}

}  // namespace

/// Ends a task also if a host's function throws through it.
class AsyncTasks::Running {
public:
    explicit Running(Shared& shared) : shared_(shared), task_{&shared, innermost_task} {
        innermost_task = &task_;
    }
    ~Running() {
        innermost_task = task_.outer;
        shared_.end();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    Shared& shared_;
    const RunningTask task_;
};

AsyncTasks::AsyncTasks(Executor executor, std::size_t slow_threads)
    : executor_(std::move(executor)),
      slow_threads_(slow_threads),
      shared_(std::make_shared<Shared>()) {}

void AsyncTasks::post(TaskQueue::Lane lane, std::function<void()> task, std::uint64_t order) {
    const bool is_own = !executor_;
    if (is_own) shared_->begin();
    // The task may destroy this object with its last reference.
    auto run = [shared = shared_, is_own, task = std::move(task)]() mutable {
        if (!is_own) shared->begin();
        const Running running(*shared);
        const ProcessUse use;
        if (use) task();
        task = nullptr;
    };
    if (is_own) {
        queue().post(lane, std::move(run), order);
    } else {
        executor_(std::move(run));
    }
}

bool AsyncTasks::is_stopping() const noexcept {
    return shared_->is_stopping || is_process_ending();
}

void AsyncTasks::shut_down() noexcept {
    shared_->is_stopping = true;
    if (os::process_id() != shared_->process || is_inside(shared_.get())) return;
    std::unique_lock lock(shared_->mutex);
    shared_->ended.wait(lock, [&] { return shared_->outstanding == 0; });
}

TaskQueue& AsyncTasks::queue() {
    std::call_once(once_, [&] { queue_.emplace(slow_threads_); });
    return *queue_;
}

}  // namespace LODE_NAMESPACE::cache
