#include "jit/cache/request_gate.hpp"

namespace LODE_NAMESPACE::cache {

constinit thread_local const RequestGate::Work* RequestGate::innermost = nullptr;

RequestGate::Work::Work(RequestGate& gate) noexcept : gate_(gate), outer_(innermost) {
    innermost = this;
}

RequestGate::Work::~Work() {
    innermost = outer_;
    gate_.leave();
}

bool RequestGate::is_inside() const noexcept {
    for (const Work* work = innermost; work != nullptr; work = work->outer_) {
        if (&work->gate_ == this) return true;
    }
    return false;
}

void RequestGate::enter() noexcept {
    while (true) {
        ++inside_;  // Before the question, so that close() waits for all that find the gate open.
        if (!is_closed_ || is_inside()) return;
        leave();
        is_closed_.wait(true);
    }
}

void RequestGate::leave() noexcept {
    if (--inside_ == 0) inside_.notify_all();
}

Status RequestGate::close() {
    if (is_inside()) {
        return fail(Errc::invalid_argument,
                    "A function that lode calls during a request can't quiesce it: that would wait "
                    "for the request.");
    }
    is_closed_ = true;
    wait_until_empty();
    return {};
}

void RequestGate::open() noexcept {
    is_closed_ = false;
    is_closed_.notify_all();
}

void RequestGate::wait_until_empty() const noexcept {
    for (std::size_t now = inside_; now != 0; now = inside_)
        inside_.wait(now);
}

}  // namespace LODE_NAMESPACE::cache
