// WriteQueue: writes that their caller doesn't wait for.
#pragma once

#include "base/os/process.hpp"

#include <lode/base/api.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace LODE_NAMESPACE::cache {

/// Runs writes on a thread of its own, in order; the first one starts the thread. Thread-safe.
class WriteQueue {
public:
    using Write = std::function<void()>;

    /// `max_bytes` bounds what the queued writes hold.
    explicit WriteQueue(std::size_t max_bytes);
    /// Runs what is queued. In a forked child, which has no such thread, it runs nothing.
    ~WriteQueue();
    WriteQueue(const WriteQueue&) = delete;
    WriteQueue& operator=(const WriteQueue&) = delete;

    /// Queues a write that holds `bytes`. Where that isn't possible (the queue is full, there is no
    /// thread), it runs now, after those before it. What it throws is dropped.
    void add(std::size_t bytes, Write write);

    /// Returns when the writes that were added before have run.
    void wait();

    /// Runs what is queued and ends the thread; the next write starts it again. Nothing may be
    /// added meanwhile.
    void quiesce();

private:
    struct State;

    [[nodiscard]] bool is_own_process() const noexcept;

    const std::size_t max_bytes_;
    const os::ProcessId process_;
    std::unique_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE::cache
