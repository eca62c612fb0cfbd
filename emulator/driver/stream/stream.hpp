// Streams and events: in-order queues of work, each with its own thread.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/order/stream_order.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lode::emulator::driver {

class Context;
class SharedEvent;
class Stream;

/// A point in a stream's order: everything up to `ticket`.
struct Point {
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
    /// If there is one, the point is recording number `ticket` of this event, perhaps of another
    /// process.
    std::shared_ptr<const SharedEvent> event = nullptr;
    ClockRef clock = nullptr;  ///< For the check of order.

    [[nodiscard]] bool reached() const;
    void wait() const;
    /// Whether later work may leave the point out: it has been reached, and no check asks for the
    /// order.
    [[nodiscard]] bool is_past() const;
    /// Tells the check of order that the host knows that the point has been reached.
    void know() const;
};

/// Thrown on submission to a closed stream.
struct StreamClosed {
    CUresult result;  ///< The result of the call that submits.
};

/// An in-order queue. Its thread starts with the first submission and ends when the stream is
/// closed and empty. A thread that waits for the stream runs the stream's work itself, so a launch
/// followed by a wait needs no thread switch. Thread-safe.
class Stream : public Handled, public std::enable_shared_from_this<Stream> {
public:
    enum class Kind : std::uint8_t { legacy, blocking, non_blocking };
    using Work = std::function<void()>;

    /// Doesn't own the context, which closes its streams and waits for their work before it ends.
    /// A closed stream takes no more work, so no work outlives its context.
    Stream(Context& context, Kind kind, int priority);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// Which thread runs submitted work: the stream's own, or the caller, which is about to wait.
    /// With `caller`, the stream's thread isn't woken.
    enum class Runner : bool { thread, caller };

    /// Adds work that starts after all earlier submissions and after every point in `after`, and
    /// returns the point at its end. Throws StreamClosed, perhaps because another thread closes the
    /// stream at this moment.
    Point submit(Work work, std::vector<Point> after, Runner runner);

    [[nodiscard]] bool reached(std::uint64_t ticket) const;
    void wait(std::uint64_t ticket);
    /// Waits for everything submitted so far.
    void drain();
    /// The end of the last submission.
    [[nodiscard]] Point submitted() const;
    [[nodiscard]] bool idle() const;

    /// Ends submissions, which get `refusal` from now on; the thread ends once the queue is empty.
    void close(CUresult refusal);
    [[nodiscard]] bool closed() const;
    /// Closed, with all work done.
    [[nodiscard]] bool retired() const;

    /// Only for callers that keep the context alive: the stream's work and the context itself.
    [[nodiscard]] Context& context() const noexcept { return context_; }
    /// For all other callers; nullptr after the context's end.
    [[nodiscard]] std::shared_ptr<Context> shared_context() const noexcept { return owner_.lock(); }
    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    [[nodiscard]] int priority() const;
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

    /// The attributes that streams have.
    static constexpr std::array attribute_ids {
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
            CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
#if CUDA_VERSION >= 13000
            CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
#endif
    };
    /// The value that was set, or else the driver's default; nullopt for other attributes.
    [[nodiscard]] std::optional<CUlaunchAttributeValue> attribute(CUlaunchAttributeID id) const;
    /// `value` must be valid for the attribute.
    void set_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue& value);

private:
    struct Item {
        std::uint64_t ticket;
        Work work;
        std::vector<Point> after;
        SubmissionRef submission;  ///< For the check of order; else null.
    };

    /// Runs the first item of the queue, releasing the lock meanwhile. Exceptions from the work
    /// become an error of the context.
    void run_first(std::unique_lock<std::mutex>& lock);
    void perform(Item& item) noexcept;
    void work_until_closed();

    Context& context_;
    const std::weak_ptr<Context> owner_;
    const Kind kind_;
    const int initial_priority_;
    const std::uint64_t id_;
    const std::shared_ptr<StreamOrder> order_;  ///< Null without that check.

    mutable std::mutex mutex_;
    std::condition_variable submitted_something_;
    std::condition_variable completed_something_;
    std::deque<Item> queue_;
    std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes_;  ///< Those that were set.
    ClockRef clock_;  ///< That of the last submission, for the check of order.
    std::uint64_t submitted_ = 0;
    std::uint64_t completed_ = 0;
    bool running_ = false;
    bool has_thread_ = false;
    std::optional<CUresult> refusal_;  ///< The result of submissions; set when closed.
};

/// One recording of an event.
struct Recording {
    Point point;
    std::atomic<std::int64_t> nanoseconds{0};  ///< Steady clock; set when the point is reached.
};

/// An event: the last recording, if any. Thread-safe.
class Event : public Handled {
public:
    /// `shared` for an event of several processes.
    Event(std::shared_ptr<Context> context, unsigned flags,
          std::shared_ptr<SharedEvent> shared = nullptr) noexcept
        : context_(std::move(context)), flags_(flags), shared_(std::move(shared)) {}

    [[nodiscard]] Context& context() const noexcept { return *context_; }
    [[nodiscard]] unsigned flags() const noexcept { return flags_; }
    /// nullptr for an event of this process alone.
    [[nodiscard]] const SharedEvent* shared() const noexcept { return shared_.get(); }

    void record(const std::shared_ptr<Stream>& stream);
    /// nullptr before the first recording.
    [[nodiscard]] std::shared_ptr<Recording> last() const;

private:
    const std::shared_ptr<Context> context_;
    const unsigned flags_;
    const std::shared_ptr<SharedEvent> shared_;
    mutable std::mutex mutex_;
    std::shared_ptr<Recording> last_;  ///< Null for a shared event.
};

}  // namespace lode::emulator::driver
