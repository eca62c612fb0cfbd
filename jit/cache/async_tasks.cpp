#include "jit/cache/async_tasks.hpp"

#include "base/process_end.hpp"

#include <utility>

namespace LODE_NAMESPACE::cache {

AsyncTasks::AsyncTasks(Executor executor, std::size_t slow_threads)
    : executor_(std::move(executor)),
      slow_threads_(slow_threads),
      process_(os::process_id()),
      gate_(std::make_shared<RequestGate>()) {}

void AsyncTasks::post(TaskQueue::Lane lane, std::function<void()> task, std::uint64_t order) {
    const bool is_own = !executor_;
    if (is_own) gate_->enter();
    // The task may destroy this object with its last reference.
    auto run = [gate = gate_, is_own, task = std::move(task)]() mutable {
        if (!is_own) gate->enter();
        const RequestGate::Work work(*gate);  // Ends also if a host's function throws through it.
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

void AsyncTasks::quiesce() noexcept {
    if (os::process_id() != process_) return;
    const std::lock_guard guard(mutex_);
    queue_.reset();
}

bool AsyncTasks::is_stopping() const noexcept {
    return is_stopping_ || is_process_ending();
}

void AsyncTasks::shut_down() noexcept {
    is_stopping_ = true;
    if (os::process_id() != process_ || gate_->is_inside()) return;
    gate_->open();  // Tasks that wait for it have to end, too.
    gate_->wait_until_empty();
}

TaskQueue& AsyncTasks::queue() {
    const std::lock_guard guard(mutex_);
    if (!queue_) queue_.emplace(slow_threads_);
    return *queue_;
}

}  // namespace LODE_NAMESPACE::cache
