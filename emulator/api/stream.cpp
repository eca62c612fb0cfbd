#include "emulator/api/stream.hpp"

#include "emulator/api/context.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace lode::emulator::driver {
namespace {

std::uint64_t next_stream_id() {
    static std::atomic<std::uint64_t> last{2};  // 1 and 2 are the default streams' handles.
    return ++last;
}

}  // namespace

bool Point::reached() const {
    return stream == nullptr || stream->reached(ticket);
}

void Point::wait() const {
    if (stream != nullptr) stream->wait(ticket);
}

Stream::Stream(Context& context, Kind kind, int priority)
    : context_(context), kind_(kind), priority_(priority), id_(next_stream_id()) {}

std::uint64_t Stream::submit(Work work, std::vector<Point> after, Runner runner) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t ticket = ++submitted_;
    queue_.push_back(Item{ticket, std::move(work), std::move(after)});
    if (runner == Runner::caller) return ticket;
    if (!has_thread_) {
        std::thread([self = shared_from_this()] { self->work_until_closed(); }).detach();
        has_thread_ = true;
    } else if (!running_) {
        submitted_something_.notify_one();
    }
    return ticket;
}

bool Stream::reached(std::uint64_t ticket) const {
    const std::lock_guard lock(mutex_);
    return completed_ >= ticket;
}

void Stream::wait(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    while (completed_ < ticket) {
        if (!running_ && !queue_.empty()) {
            run_first(lock);
        } else {
            completed_something_.wait(lock);
        }
    }
}

void Stream::drain() {
    wait(submitted());
}

std::uint64_t Stream::submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
}

bool Stream::idle() const {
    const std::lock_guard lock(mutex_);
    return completed_ == submitted_;
}

void Stream::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    submitted_something_.notify_one();
}

bool Stream::closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

bool Stream::retired() const {
    const std::lock_guard lock(mutex_);
    return closed_ && completed_ == submitted_;
}

void Stream::run_first(std::unique_lock<std::mutex>& lock) {
    Item item = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    for (const Point& point : item.after)
        point.wait();
    item.work();
    // The work may own the last reference to something with a destructor of its own.
    item = Item{item.ticket, {}, {}};
    lock.lock();
    running_ = false;
    completed_ = item.ticket;
    completed_something_.notify_all();
    if (!queue_.empty() || closed_) submitted_something_.notify_one();
}

void Stream::work_until_closed() {
    std::unique_lock lock(mutex_);
    while (true) {
        submitted_something_.wait(lock, [&] { return !running_ && (!queue_.empty() || closed_); });
        if (queue_.empty()) return;
        run_first(lock);
    }
}

void Event::record(const std::shared_ptr<Stream>& stream) {
    const auto recording = std::make_shared<Recording>();
    recording->point.stream = stream;
    const std::lock_guard lock(mutex_);
    recording->point.ticket = stream->context().submit(*stream, [recording] {
        recording->nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count();
    });
    last_ = recording;
}

std::shared_ptr<Recording> Event::last() const {
    const std::lock_guard lock(mutex_);
    return last_;
}

}  // namespace lode::emulator::driver
