#include "jit/store/write_queue.hpp"

#include "base/process_end.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

void run(const WriteQueue::Write& write) noexcept {
    try {
        const ProcessUse use;
        if (use) write();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // Out of memory: the record isn't stored, and is asked for again.
    }
}

}  // namespace

struct WriteQueue::State {
    struct Item {
        std::size_t bytes = 0;
        Write write;
    };

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> items;  ///< The first one stays while it is written.
    std::size_t bytes = 0;   ///< Size of the items.
    bool is_stopping = false;
    std::thread thread;

    /// Until it is to stop and nothing is left.
    void work() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return is_stopping || !items.empty(); });
            if (items.empty()) return;
            // A deque's items stay where they are while others are added.
            const Item& first = items.front();
            lock.unlock();
            run(first.write);
            lock.lock();
            bytes -= first.bytes;
            items.pop_front();
            changed.notify_all();
        }
    }
};

WriteQueue::WriteQueue(std::size_t max_bytes)
    : max_bytes_(max_bytes), process_(os::process_id()), state_(std::make_unique<State>()) {}

WriteQueue::~WriteQueue() {
    if (!is_own_process()) {
        // The thread is the parent's, and the lock may be held forever.
        (void)state_.release();
        return;
    }
    quiesce();
}

void WriteQueue::quiesce() {
    if (!is_own_process() || !state_->thread.joinable()) return;
    {
        const std::lock_guard guard(state_->mutex);
        state_->is_stopping = true;
        state_->changed.notify_all();
    }
    state_->thread.join();
    state_->is_stopping = false;
}

bool WriteQueue::is_own_process() const noexcept {
    return os::process_id() == process_;
}

void WriteQueue::add(std::size_t bytes, Write write) {
    if (!is_own_process()) return run(write);
    {
        const std::lock_guard guard(state_->mutex);
        bool has_thread = state_->thread.joinable();
        if (!has_thread) {
            try {
                state_->thread = std::thread([state = state_.get()] { state->work(); });
                has_thread = true;
            } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
                // The system has no thread left.
            }
        }
        if (has_thread && bytes <= max_bytes_ - state_->bytes) {
            state_->items.push_back({bytes, std::move(write)});
            state_->bytes += bytes;
            state_->changed.notify_all();
            return;
        }
    }
    wait();
    run(write);
}

void WriteQueue::wait() {
    if (!is_own_process()) return;
    std::unique_lock lock(state_->mutex);
    if (!state_->thread.joinable()) return;
    state_->changed.wait(lock, [this] { return state_->items.empty(); });
}

}  // namespace LODE_NAMESPACE::cache
