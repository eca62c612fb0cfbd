// Breaker: decides whether a server that fails is used.
#pragma once

#include <lode/base/error.hpp>
#include <lode/jit/remote_cache.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

namespace lode::cache {

/// Closed while the server works. One time-out or several consecutive faults open it; then nothing
/// uses the server until a trial, on a thread that no caller waits for, succeeds. Thread-safe.
class Breaker {
public:
    using Clock = std::chrono::steady_clock;

    explicit Breaker(const RemoteCacheOptions& options)
        : most_faults_(options.most_faults),
          first_pause_(options.retry_after),
          pause_(options.retry_after) {}

    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

    void succeeded() {
        if (faults_ == 0 && is_closed_) return;
        const std::lock_guard guard(mutex_);
        faults_ = 0;
        pause_ = first_pause_;
        is_closed_ = true;
    }

    void failed(const Error& error) {
        const std::lock_guard guard(mutex_);
        const bool opens = ++faults_ >= most_faults_ || error.code == Errc::timed_out;
        if (is_closed_ && !opens) return;
        constexpr std::chrono::milliseconds longest_pause = std::chrono::minutes(10);
        is_closed_ = false;
        trial_ = Clock::now() + pause_;
        pause_ = std::min(pause_ * 2, longest_pause);
    }

    /// When to try the server again; meaningful while it isn't closed.
    [[nodiscard]] Clock::time_point next_trial() const {
        const std::lock_guard guard(mutex_);
        return trial_;
    }

private:
    const int most_faults_;
    const std::chrono::milliseconds first_pause_;
    std::atomic<bool> is_closed_ = true;
    std::atomic<int> faults_ = 0;
    mutable std::mutex mutex_;
    std::chrono::milliseconds pause_;
    Clock::time_point trial_;
};

}  // namespace lode::cache
