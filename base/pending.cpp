#include <lode/base/pending.hpp>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace LODE_NAMESPACE::detail {

struct PendingCore::State {
    std::mutex mutex;
    std::condition_variable completed;
    bool is_done = false;
    bool is_cancelled = false;
    std::vector<Function> continuations;
    Function on_cancel;
};

PendingCore::PendingCore() : state_(std::make_unique<State>()) {}
PendingCore::~PendingCore() = default;

void PendingCore::complete(const Function& store) {
    std::vector<Function> continuations;
    Function unused;  // Destroyed without the lock: it may own anything.
    {
        const std::lock_guard guard(state_->mutex);
        if (state_->is_done) return;
        store();
        state_->is_done = true;
        continuations.swap(state_->continuations);
        unused = std::exchange(state_->on_cancel, nullptr);
    }
    state_->completed.notify_all();
    for (const auto& continuation : continuations)
        continuation();
}

void PendingCore::on_done(Function continuation) {
    {
        const std::lock_guard guard(state_->mutex);
        if (!state_->is_done) {
            state_->continuations.push_back(std::move(continuation));
            return;
        }
    }
    continuation();
}

void PendingCore::on_cancel(Function on_cancel) {
    bool is_cancelled = false;
    {
        const std::lock_guard guard(state_->mutex);
        is_cancelled = state_->is_cancelled;
        if (!state_->is_done && !is_cancelled) {
            state_->on_cancel.swap(on_cancel);
            return;  // The earlier one is destroyed without the lock.
        }
    }
    if (is_cancelled) on_cancel();
}

bool PendingCore::request_cancel() {
    Function on_cancel;
    {
        const std::lock_guard guard(state_->mutex);
        if (state_->is_done) return false;
        on_cancel = std::exchange(state_->on_cancel, nullptr);
        state_->is_cancelled = true;
    }
    if (on_cancel) on_cancel();
    return true;
}

bool PendingCore::is_done() const {
    const std::lock_guard guard(state_->mutex);
    return state_->is_done;
}

bool PendingCore::is_cancelled() const {
    const std::lock_guard guard(state_->mutex);
    return state_->is_cancelled;
}

void PendingCore::wait() const {
    std::unique_lock lock(state_->mutex);
    state_->completed.wait(lock, [&] { return state_->is_done; });
}

bool PendingCore::wait_until(std::chrono::steady_clock::time_point time) const {
    std::unique_lock lock(state_->mutex);
    return state_->completed.wait_until(lock, time, [&] { return state_->is_done; });
}

}  // namespace LODE_NAMESPACE::detail
