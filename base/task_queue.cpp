#include "base/task_queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace LODE_NAMESPACE {

struct TaskQueue::Shared {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::function<void()>> quick;
    std::multimap<std::uint64_t, std::function<void()>> slow;
    std::size_t started_quick = 0;  ///< Threads that take only quick tasks.
    std::size_t started_slow = 0;   ///< Threads that take all tasks.
    std::size_t idle_quick = 0;
    std::size_t idle_slow = 0;
    bool is_ending = false;

    void run(bool only_quick) {
        std::size_t& idle = only_quick ? idle_quick : idle_slow;
        std::unique_lock lock(mutex);
        for (;;) {
            ++idle;
            arrived.wait(lock, [&] {
                return is_ending || !quick.empty() || (!only_quick && !slow.empty());
            });
            --idle;
            std::function<void()> task;
            if (!quick.empty()) {
                task = std::move(quick.front());
                quick.pop_front();
            } else if (!only_quick && !slow.empty()) {
                task = std::move(slow.extract(slow.begin()).mapped());
            } else {
                return;
            }
            lock.unlock();
            task();
            task = nullptr;
            lock.lock();
        }
    }
};

TaskQueue::TaskQueue(std::size_t slow_threads)
    : shared_(std::make_shared<Shared>()),
      slow_threads_(std::max<std::size_t>(slow_threads, 1)),
      process_(os::process_id()) {}

TaskQueue::~TaskQueue() {
    if (os::process_id() != process_) {
        // Joining a thread that fork() left behind never ends, and destroying one ends the process.
        (void)new (std::nothrow) std::vector<std::thread>(std::move(threads_));
        (void)new (std::nothrow) std::shared_ptr<Shared>(std::move(shared_));
        return;
    }
    {
        const std::lock_guard guard(shared_->mutex);
        shared_->is_ending = true;
    }
    shared_->arrived.notify_all();
    for (auto& thread : threads_) {
        if (thread.get_id() == std::this_thread::get_id()) {
            thread.detach();
        } else {
            thread.join();
        }
    }
}

void TaskQueue::post(Lane lane, std::function<void()> task, std::uint64_t order) {
    const auto shared = shared_;  // The task may destroy this object before the notification.
    {
        const std::lock_guard guard(shared->mutex);
        auto& here = *shared;
        if (lane == Lane::quick) {
            if (here.idle_quick <= here.quick.size() && here.started_quick < quick_threads)
                start_thread(true);
            if (here.started_quick + here.started_slow > 0)
                here.quick.push_back(std::exchange(task, nullptr));
        } else {
            if (here.idle_slow <= here.slow.size() && here.started_slow < slow_threads_)
                start_thread(false);
            if (here.started_slow > 0) here.slow.emplace(order, std::exchange(task, nullptr));
        }
    }
    if (task) return task();
    // A thread for quick tasks alone must not swallow the notification of a slow one.
    shared->arrived.notify_all();
}

void TaskQueue::start_thread(bool only_quick) {
    std::size_t& started = only_quick ? shared_->started_quick : shared_->started_slow;
    ++started;
    try {
        threads_.emplace_back([shared = shared_, only_quick] { shared->run(only_quick); });
    } catch (const std::system_error&) {
        --started;
    }
}

}  // namespace LODE_NAMESPACE
