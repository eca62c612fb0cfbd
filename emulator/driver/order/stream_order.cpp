#include "emulator/driver/order/stream_order.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

/// What has touched more ranges than these is no longer compared with what comes.
constexpr std::size_t most_ranges = std::size_t{1} << 23;
constexpr std::size_t most_reports = 1000;  // As many as a journal has.

thread_local Performing* performing = nullptr;

std::size_t count_ranges(const TouchedBytes& bytes) {
    std::size_t count = 1;
    for (const ByteRanges& ranges : bytes)
        count += ranges.all().size();
    return count;
}

std::string_view verb_of(const StreamOperation& operation, Touch touch) {
    if (operation.verb != nullptr) return operation.verb;
    switch (touch) {
        case Touch::read:
        case Touch::strong_read:
            return "reads";
        case Touch::write:
        case Touch::same_write:
            return "writes";
        case Touch::strong_write:
            return "updates";
    }
    return "touches";
}

std::string fact(std::string_view which, const StreamOperation& operation, const Submission& by) {
    const std::string stream =
        by.is_default ? "the default stream" : fmt::format("stream {}", by.stream);
    return fmt::format("\n  {}: {}, by {}, driver call {}, on {}", which, operation.name, by.entry,
                       by.call, stream);
}

}  // namespace

/// Two operations that conflict, in the order in which they ran.
struct StreamOrder::Pair {
    TouchConflict conflict;
    StreamOperation first, second;
    SubmissionRef first_by, second_by;
    bool in_graph = false;
};

SubmissionRef StreamOrder::submit(std::uint64_t stream, std::uint64_t ticket, bool is_default,
                                  const ClockRef& last, std::span<const ClockRef> points) {
    const std::lock_guard lock(mutex_);
    Clock clock = last == nullptr ? Clock() : *last;
    for (const ClockRef& point : points)
        clock.join(point == nullptr ? everything_ : *point);
    clock.forget([&](std::uint64_t of, std::uint64_t time) { return host_->time_of(of) >= time; });
    clock.advance(stream, ticket);
    everything_.advance(stream, ticket);
    running_.insert(++submissions_);
    return std::make_shared<const Submission>(
        Submission{submissions_, stream, ticket, std::make_shared<const Clock>(std::move(clock)),
                   host_, is_default, gate::current_entry(), gate::current_call()});
}

void StreamOrder::end(const Submission& submission) noexcept {
    const std::lock_guard lock(mutex_);
    running_.erase(submission.number);
    settle_locked();
}

void StreamOrder::learn(const ClockRef& clock) {
    if (clock == nullptr || performing != nullptr) return;
    const std::lock_guard lock(mutex_);
    join_host_locked(*clock);
}

void StreamOrder::learn_all() {
    if (performing != nullptr) return;
    const std::lock_guard lock(mutex_);
    join_host_locked(everything_);
}

void StreamOrder::tell_host() {
    if (performing == nullptr || performing->submission == nullptr) return;
    const std::lock_guard lock(mutex_);
    join_host_locked(*performing->submission->clock);
}

void StreamOrder::join_host_locked(const Clock& clock) {
    Clock host = *host_;
    host.join(clock);
    host_ = std::make_shared<const Clock>(std::move(host));
    if (known_.empty() || known_.back().first != submissions_) known_.emplace_back();
    known_.back() = {submissions_, host_};
    settle_locked();
}

void StreamOrder::settle_locked() {
    const std::uint64_t first = running_.empty() ? submissions_ + 1 : *running_.begin();
    bool has_news = false;
    for (; !known_.empty() && known_.front().first < first; known_.pop_front()) {
        settled_ = known_.front().second;
        has_news = true;
    }
    if (!has_news) return;
    for (auto stream = done_.begin(); stream != done_.end();) {
        auto& operations = stream->second;
        const std::uint64_t time = settled_->time_of(stream->first);
        for (; !operations.empty() && operations.front().submission->ticket <= time;
             operations.pop_front())
            ranges_ -= count_ranges(operations.front().bytes);
        stream = operations.empty() ? done_.erase(stream) : std::next(stream);
    }
    forget_ended_locked();
}

void StreamOrder::end_stream(std::uint64_t stream) {
    const std::lock_guard lock(mutex_);
    ended_.push_back(stream);
    forget_ended_locked();
}

void StreamOrder::forget_ended_locked() {
    const auto is_past = [&](std::uint64_t stream) { return !done_.contains(stream); };
    const auto kept = std::partition(ended_.begin(), ended_.end(), std::not_fn(is_past));
    if (kept == ended_.end()) return;
    const std::set<std::uint64_t> gone(kept, ended_.end());
    ended_.erase(kept, ended_.end());
    const auto forget = [&](Clock& clock) {
        clock.forget([&](std::uint64_t stream, std::uint64_t) { return gone.contains(stream); });
    };
    Clock host = *host_;
    forget(host);
    forget(everything_);
    host_ = std::make_shared<const Clock>(std::move(host));
}

void StreamOrder::drop_excess_locked(std::uint64_t stream) {
    auto& operations = done_[stream];
    while (ranges_ > most_ranges && operations.size() > 1) {
        ranges_ -= count_ranges(operations.front().bytes);
        operations.pop_front();
        if (!std::exchange(has_dropped_, true)) {
            log::write(log::Level::warning,
                       "The check `streams` has no room for what operations have touched since the "
                       "program last waited. It no longer compares the oldest.");
        }
    }
}

void StreamOrder::compare_locked(const Done& now, std::vector<Pair>& found) const {
    const Submission& mine = *now.submission;
    const auto compare = [&](const Done& earlier, bool in_graph) {
        const auto conflict = conflict_of(earlier.bytes, now.bytes);
        if (!conflict) return;
        const Location place = driver().memory.locate(conflict->bytes.first);
        // Blocks of the kernels' heap pass from launch to launch.
        if (place.inside && (place.inside->kind == MemoryKind::heap ||
                             place.inside->serial > earlier.newest_allocation))
            return;
        found.push_back({*conflict, earlier.operation, now.operation, earlier.submission,
                         now.submission, in_graph});
    };
    for (const auto& [stream, operations] : done_) {
        for (std::size_t k = operations.size(); k-- > 0;) {
            const Done& earlier = operations[k];
            if (!mine.is_after(*earlier.submission)) {
                compare(earlier, false);
            } else if (stream == mine.stream && now.place.launch != 0 &&
                       earlier.place.launch == now.place.launch) {
                if (is_unordered(earlier.place, now.place)) compare(earlier, true);
            } else {
                break;  // What ran before it comes before this one, too.
            }
        }
    }
}

void StreamOrder::note(TouchedBytes bytes, StreamOperation operation) {
    if (performing == nullptr || performing->submission == nullptr) return;
    std::vector<Pair> found;
    {
        const std::lock_guard lock(mutex_);
        Done now{performing->submission, performing->place, std::move(bytes), std::move(operation),
                 driver().memory.newest_serial()};
        compare_locked(now, found);
        ranges_ += count_ranges(now.bytes);
        const std::uint64_t stream = now.submission->stream;
        done_[stream].push_back(std::move(now));
        drop_excess_locked(stream);
    }
    if (!found.empty()) performing->has_finding = true;
    for (const Pair& pair : found)
        report(pair);
}

void StreamOrder::report(const Pair& pair) {
    const auto& [conflict, first, second, first_by, second_by, in_graph] = pair;
    const std::uint64_t count = conflict.bytes.end - conflict.bytes.first;
    std::string text = fmt::format("{} {} {} that {} {}, and nothing orders the two", second.name,
                                   verb_of(second, conflict.second), bytes_text(count), first.name,
                                   verb_of(first, conflict.first));
    const Location place = driver().memory.locate(conflict.bytes.first);
    std::string memory;
    if (place.inside) {
        memory = fmt::format(
            "\n  address: 0x{:x}, {} into the allocation\n  allocation: {}", conflict.bytes.first,
            bytes_text(conflict.bytes.first - place.inside->address), origin_text(*place.inside));
    }
    {
        const std::lock_guard lock(mutex_);
        if (reported_.size() >= most_reports || !reported_.insert(text + memory).second) return;
    }
    text += fact("first", first, *first_by) + fact("second", second, *second_by) + memory;
    text += in_graph
                ? "\n  order: add an edge between the two nodes"
                : "\n  order: record an event after the first, and let the second's stream wait "
                  "for it";
    exec::FindingReport finding;
    finding.kind = "unordered";
    if (first.is_kernel) finding.kernel = first.name;
    if (second.is_kernel) finding.kernel = second.name;
    finding.text = std::move(text);
    log::write(log::Level::error, finding.text);
    log::keep_findings(finding.text);
    journal::add(journal::Kind::finding, finding);
}

std::uint64_t StreamOrder::next_launch() {
    const std::lock_guard lock(mutex_);
    return ++launches_;
}

Performing::Performing(SubmissionRef its_submission) noexcept
    : submission(std::move(its_submission)), outer_(std::exchange(performing, this)) {}

Performing::~Performing() {
    performing = outer_;
}

Performing* Performing::current() noexcept {
    return performing;
}

PerformingNode::PerformingNode(GraphStep step) : in_(performing) {
    if (in_ != nullptr) in_->place.steps.push_back(std::move(step));
}

PerformingNode::~PerformingNode() {
    if (in_ != nullptr) in_->place.steps.pop_back();
}

void PerformingNode::next_round() noexcept {
    if (performing != nullptr && !performing->place.steps.empty())
        ++performing->place.steps.back().round;
}

}  // namespace lode::emulator::driver
