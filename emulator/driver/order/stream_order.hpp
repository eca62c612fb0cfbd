// The check `streams`: launches, copies, fills, allocations and frees that touch the same bytes,
// although neither streams, events, the edges of a graph nor the host's waits order them. A finding
// doesn't depend on which of the two ran first.
//
// Each submission to a stream has a clock, made when it is submitted: what happens before it. What
// an operation touches is kept until everything that may be unordered with it is done.
#pragma once

#include "emulator/driver/order/clock.hpp"
#include "emulator/driver/order/graph_place.hpp"
#include "emulator/memory/touched_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace lode::emulator::driver {

/// An item of a stream's queue. Immutable.
struct Submission {
    std::uint64_t number = 0;  ///< 1, 2, 3 … in the process.
    std::uint64_t stream = 0;
    std::uint64_t ticket = 0;
    ClockRef clock;           ///< What happens before it and isn't in `host`, and itself.
    ClockRef host;            ///< What the host knew to be done.
    bool is_default = false;  ///< On the legacy default stream.
    const char* entry = "";   ///< The driver call, as the next.
    unsigned long call = 0;

    [[nodiscard]] bool is_after(const Submission& other) const noexcept {
        return clock->time_of(other.stream) >= other.ticket ||
               host->time_of(other.stream) >= other.ticket;
    }
};
using SubmissionRef = std::shared_ptr<const Submission>;

/// What an operation is, in reports.
struct StreamOperation {
    std::string name;  ///< "saxpy" or "a copy of 4096 bytes".
    const char* verb =
        nullptr;  ///< What it does to memory, if that is more than to read and write.
    bool is_kernel = false;
};

/// One for the process. Thread-safe.
class StreamOrder {
public:
    StreamOrder() : host_(std::make_shared<const Clock>()), settled_(host_) {}

    /// Makes the clock of a submission: after `last` of its stream, which may be null, and after
    /// `points`. A null point stands for work of another process: everything comes before it.
    [[nodiscard]] SubmissionRef submit(std::uint64_t stream, std::uint64_t ticket, bool is_default,
                                       const ClockRef& last, std::span<const ClockRef> points);
    /// The submission is done.
    void end(const Submission& submission) noexcept;

    /// A stream will have no more submissions.
    void end_stream(std::uint64_t stream);

    /// The host knows that everything up to a clock is done. Does nothing on a thread that performs
    /// a stream's work. Null does nothing.
    void learn(const ClockRef& clock);
    /// Likewise for everything that has been submitted.
    void learn_all();
    /// The work that this thread performs may tell the host how far its stream is.
    void tell_host();

    /// The work that this thread performs has touched memory.
    void note(TouchedBytes bytes, StreamOperation operation);

    /// The number of a launch of a graph.
    [[nodiscard]] std::uint64_t next_launch();

private:
    struct Done {
        SubmissionRef submission;
        GraphPlace place;
        TouchedBytes bytes;
        StreamOperation operation;
        std::uint64_t newest_allocation = 0;
    };
    struct Pair;

    void join_host_locked(const Clock& clock);
    void settle_locked();
    void forget_ended_locked();
    void drop_excess_locked(std::uint64_t stream);
    void compare_locked(const Done& now, std::vector<Pair>& found) const;
    void report(const Pair& pair);

    std::mutex mutex_;
    std::uint64_t submissions_ = 0;
    std::uint64_t launches_ = 0;
    Clock everything_;  ///< All submissions.
    ClockRef host_;     ///< What the host knows to be done.
    /// What the host knew when there were so many submissions.
    std::deque<std::pair<std::uint64_t, ClockRef>> known_;
    /// What the host knew before the first submission that isn't done.
    ClockRef settled_;
    std::set<std::uint64_t> running_;                 ///< The numbers of those that aren't done.
    std::map<std::uint64_t, std::deque<Done>> done_;  ///< By stream.
    std::size_t ranges_ = 0;                          ///< In `done_`.
    std::vector<std::uint64_t> ended_;                ///< Streams that something is left of.
    bool has_dropped_ = false;
    std::set<std::string> reported_;
};

/// While it lives, this thread performs a submission. A null one is none.
class Performing {
public:
    explicit Performing(SubmissionRef submission) noexcept;
    ~Performing();
    Performing(const Performing&) = delete;
    Performing& operator=(const Performing&) = delete;

    const SubmissionRef submission;
    GraphPlace place;
    bool has_finding = false;
    /// The innermost of this thread; nullptr if there is none.
    [[nodiscard]] static Performing* current() noexcept;

private:
    Performing* const outer_;
};

/// While it lives, this thread performs a node of a graph, inside of those of its outer ones.
class PerformingNode {
public:
    explicit PerformingNode(GraphStep step);
    ~PerformingNode();
    PerformingNode(const PerformingNode&) = delete;
    PerformingNode& operator=(const PerformingNode&) = delete;

    /// The innermost node that this thread performs begins another round.
    static void next_round() noexcept;

private:
    Performing* const in_;
};

}  // namespace lode::emulator::driver
