// Breaker: decides whether a server that fails is used.
#pragma once

#include <lode/base/error.hpp>
#include <lode/jit/remote_cache.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace LODE_NAMESPACE::cache {

/// What goes well or wrong with a server.
enum class Traffic : std::uint8_t {
    read,
    write,
    content  ///< A record that was read isn't valid. Later records don't make up for it.
};

/// Closed while the server works. One time-out or several consecutive faults of one kind open it;
/// then nothing uses the server until a trial, on a thread that no caller waits for, succeeds.
/// Thread-safe.
class Breaker {
public:
    using Clock = std::chrono::steady_clock;

    explicit Breaker(const RemoteCacheOptions& options)
        : most_faults_(options.most_faults), first_pause_(options.retry_after) {}

    [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

    void succeeded(Traffic traffic) noexcept { faults_[static_cast<std::size_t>(traffic)] = 0; }

    void failed(Traffic traffic, const Error& error) {
        const std::lock_guard guard(mutex_);
        // Requests that were under way when it opened say nothing new.
        if (!is_closed_) return;
        const int faults = ++faults_[static_cast<std::size_t>(traffic)];
        if (faults >= most_faults_ || error.code == Errc::timed_out) open();
    }

    /// Closes it after a trial that succeeded; waits longer after one that didn't.
    void tried(bool has_succeeded) {
        const std::lock_guard guard(mutex_);
        if (!has_succeeded) {
            open();
            return;
        }
        close();
    }

    /// Closes it as it was at first: what failed may be another server by now.
    void forget() {
        const std::lock_guard guard(mutex_);
        close();
    }

    /// When to try the server again; meaningful while it isn't closed.
    [[nodiscard]] Clock::time_point next_trial() const {
        const std::lock_guard guard(mutex_);
        return trial_;
    }

private:
    void open() {
        constexpr std::chrono::milliseconds longest_pause = std::chrono::minutes(10);
        is_closed_ = false;
        trial_ = Clock::now() + pause_;
        pause_ = std::min(pause_ * 2, longest_pause);
    }
    void close() {
        for (auto& faults : faults_)
            faults = 0;
        pause_ = first_pause_;
        is_closed_ = true;
    }

    const int most_faults_;
    std::atomic<bool> is_closed_ = true;
    std::array<std::atomic<int>, 3> faults_ = {};
    mutable std::mutex mutex_;
    const std::chrono::milliseconds first_pause_;
    std::chrono::milliseconds pause_ = first_pause_;
    Clock::time_point trial_;
};

}  // namespace LODE_NAMESPACE::cache
