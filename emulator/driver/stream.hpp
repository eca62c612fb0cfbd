// Streams and events: in-order queues of work, each with a thread of its own.
#pragma once

#include "emulator/driver/handles.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace lode::emulator::driver {

class Context;
class Stream;

/// A place in a stream's order: everything up to `ticket`.
struct Point {
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;

    [[nodiscard]] bool reached() const;
    void wait() const;
};

/// An in-order queue. The thread starts with the first submission and ends when the stream is
/// closed and empty; a thread that waits for the stream runs its work meanwhile, so that a launch
/// followed by a wait costs no change of threads. Thread-safe.
class Stream : public Handled, public std::enable_shared_from_this<Stream> {
public:
    enum class Kind : std::uint8_t { legacy, blocking, non_blocking };
    using Work = std::function<void()>;

    /// Doesn't keep the context, which closes its streams before it ends and waits for their work.
    Stream(Context& context, Kind kind, int priority);

    /// Who runs submitted work if nobody waits for it: the stream's own thread. A caller that is
    /// about to wait runs it itself, and the thread is left asleep.
    enum class Runner : bool { thread, caller };

    /// Adds work that starts after everything submitted before and after all of `after`.
    std::uint64_t submit(Work work, std::vector<Point> after, Runner runner);

    [[nodiscard]] bool reached(std::uint64_t ticket) const;
    void wait(std::uint64_t ticket);
    /// Waits for everything submitted so far.
    void drain();
    /// The last submission.
    [[nodiscard]] std::uint64_t submitted() const;
    [[nodiscard]] bool idle() const;

    /// No more submissions; the thread ends when the queue is empty.
    void close();
    [[nodiscard]] bool closed() const;
    /// Closed, and its work done.
    [[nodiscard]] bool retired() const;

    /// For whoever has the context alive: the stream's own work, and the context itself.
    [[nodiscard]] Context& context() const noexcept { return context_; }
    /// For everybody else; nullptr after the context's end.
    [[nodiscard]] std::shared_ptr<Context> shared_context() const noexcept { return owner_.lock(); }
    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    [[nodiscard]] int priority() const noexcept { return priority_; }
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

private:
    struct Item {
        std::uint64_t ticket;
        Work work;
        std::vector<Point> after;
    };

    /// Runs the first item of the queue; the lock is released meanwhile. Whatever the work throws
    /// ends here, as an error of the context.
    void run_first(std::unique_lock<std::mutex>& lock);
    void perform(Item& item) noexcept;
    void work_until_closed();

    Context& context_;
    const std::weak_ptr<Context> owner_;
    const Kind kind_;
    const int priority_;
    const std::uint64_t id_;

    mutable std::mutex mutex_;
    std::condition_variable submitted_something_;
    std::condition_variable completed_something_;
    std::deque<Item> queue_;
    std::uint64_t submitted_ = 0;
    std::uint64_t completed_ = 0;
    bool running_ = false;
    bool has_thread_ = false;
    bool closed_ = false;
};

/// One recording of an event.
struct Recording {
    Point point;
    std::atomic<std::int64_t> nanoseconds{0};  ///< Steady clock; set when the point is reached.
};

/// An event: the last recording, if any. Thread-safe.
class Event : public Handled {
public:
    Event(std::shared_ptr<Context> context, unsigned flags) noexcept
        : context_(std::move(context)), flags_(flags) {}

    [[nodiscard]] Context& context() const noexcept { return *context_; }
    [[nodiscard]] unsigned flags() const noexcept { return flags_; }

    void record(const std::shared_ptr<Stream>& stream);
    /// nullptr before the first recording.
    [[nodiscard]] std::shared_ptr<Recording> last() const;

private:
    const std::shared_ptr<Context> context_;
    const unsigned flags_;
    mutable std::mutex mutex_;
    std::shared_ptr<Recording> last_;
};

}  // namespace lode::emulator::driver
