#include "emulator/driver/stream/stream.hpp"

#include "emulator/driver/context/context.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/stream/shared_event.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>
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
    if (event != nullptr) return event->reached(ticket);
    return stream == nullptr || stream->reached(ticket);
}

void Point::wait() const {
    if (event != nullptr) return event->wait(ticket);
    if (stream != nullptr) stream->wait(ticket);
}

bool Point::is_past() const {
    const bool is_nowhere = stream == nullptr && event == nullptr;
    return is_nowhere || (driver().order == nullptr && reached());
}

void Point::know() const {
    StreamOrder* const order = driver().order.get();
    if (order == nullptr) return;
    return event != nullptr ? order->learn_all() : order->learn(clock);
}

Stream::Stream(Context& context, Kind kind, int priority)
    : context_(context),
      owner_(context.weak_from_this()),
      kind_(kind),
      initial_priority_(priority),
      id_(next_stream_id()),
      order_(driver().order) {}

Stream::~Stream() {
    if (order_ != nullptr) order_->end_stream(id_);
}

Point Stream::submit(Work work, std::vector<Point> after, Runner runner) {
    const std::lock_guard lock(mutex_);
    if (refusal_) throw StreamClosed{*refusal_};
    // If this throws, nothing has been submitted.
    if (runner == Runner::thread && !has_thread_) {
        std::thread([self = shared_from_this()] { self->work_until_closed(); }).detach();
        has_thread_ = true;
    }
    SubmissionRef submission;
    if (order_ != nullptr) {
        std::vector<ClockRef> points;
        for (const Point& point : after)
            if (point.event != nullptr || point.clock != nullptr) points.push_back(point.clock);
        submission = order_->submit(id_, submitted_ + 1, kind_ == Kind::legacy, clock_, points);
        clock_ = submission->clock;
    }
    queue_.push_back(
        Item{submitted_ + 1, std::move(work), std::move(after), std::move(submission)});
    ++submitted_;
    if (runner == Runner::thread && !running_) submitted_something_.notify_one();
    return Point{shared_from_this(), submitted_, nullptr, clock_};
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
    const Point last = submitted();
    last.wait();
    last.know();
}

Point Stream::submitted() const {
    const std::lock_guard lock(mutex_);
    return Point{std::const_pointer_cast<Stream>(shared_from_this()), submitted_, nullptr, clock_};
}

bool Stream::idle() const {
    const std::lock_guard lock(mutex_);
    return completed_ == submitted_;
}

void Stream::close(CUresult refusal) {
    const std::lock_guard lock(mutex_);
    refusal_ = refusal;
    submitted_something_.notify_one();
}

bool Stream::closed() const {
    const std::lock_guard lock(mutex_);
    return refusal_.has_value();
}

bool Stream::retired() const {
    const std::lock_guard lock(mutex_);
    return refusal_ && completed_ == submitted_;
}

int Stream::priority() const {
    return attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY)->priority;
}

std::optional<CUlaunchAttributeValue> Stream::attribute(CUlaunchAttributeID id) const {
    if (std::ranges::find(attribute_ids, id) == attribute_ids.end()) return std::nullopt;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = attributes_.find(id); found != attributes_.end())
            return found->second;
    }
    CUlaunchAttributeValue value{};
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value.priority = initial_priority_;
    if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value.syncPolicy = CU_SYNC_POLICY_AUTO;
    return value;
}

void Stream::set_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
    const std::lock_guard lock(mutex_);
    attributes_[id] = value;
}

void Stream::run_first(std::unique_lock<std::mutex>& lock) {
    Item item = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    perform(item);
    lock.lock();
    running_ = false;
    completed_ = item.ticket;
    completed_something_.notify_all();
    if (!queue_.empty() || refusal_) submitted_something_.notify_one();
}

void Stream::perform(Item& item) noexcept {
    const auto fail = [this](CUresult code, const char* why) noexcept {
        log::report(why);
        context_.fail_once(code);
    };
    const Performing performing(item.submission);
    try {
        for (const Point& point : item.after)
            point.wait();
        item.work();
    } catch (const std::bad_alloc&) {
        fail(CUDA_ERROR_OUT_OF_MEMORY, "A stream's work was stopped: the host is out of memory.");
    } catch (const std::length_error&) {  // Containers throw this for impossible sizes.
        fail(CUDA_ERROR_OUT_OF_MEMORY, "A stream's work was stopped: the host is out of memory.");
    } catch (const std::exception& error) {
        fail(CUDA_ERROR_UNKNOWN, error.what());
    } catch (...) {
        fail(CUDA_ERROR_UNKNOWN, "A stream's work was stopped by an exception.");
    }
    // Destroys the work here: it may own the last reference to an object.
    item = Item{item.ticket, {}, {}, nullptr};
    if (performing.submission == nullptr) return;
    if (performing.has_finding && driver().settings.findings_fail)
        context_.fail(CUDA_ERROR_LAUNCH_FAILED);
    order_->end(*performing.submission);
}

void Stream::work_until_closed() {
    std::unique_lock lock(mutex_);
    while (true) {
        submitted_something_.wait(lock, [&] { return !running_ && (!queue_.empty() || refusal_); });
        if (queue_.empty()) {
            has_thread_ = false;
            return;
        }
        run_first(lock);
    }
}

void Event::record(const std::shared_ptr<Stream>& stream) {
    if (shared_ != nullptr) {
        const std::uint64_t number = shared_->begin();
        try {
            stream->context().submit(*stream,
                                     [shared = shared_, number] { shared->finish(number); });
        } catch (...) {
            shared_->finish(number);  // Otherwise others would wait for it.
            throw;
        }
        return;
    }
    const auto recording = std::make_shared<Recording>();
    const std::lock_guard lock(mutex_);
    recording->point = stream->context().submit(*stream, [recording] {
        recording->nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count();
    });
    last_ = recording;
}

std::shared_ptr<Recording> Event::last() const {
    if (shared_ != nullptr) {
        const std::uint64_t number = shared_->last();
        if (number == 0) return nullptr;
        auto recording = std::make_shared<Recording>();
        recording->point = Point{nullptr, number, shared_};
        return recording;
    }
    const std::lock_guard lock(mutex_);
    return last_;
}

}  // namespace lode::emulator::driver
