// Timing for bench/kernels: device events around batches of launches, medians over rounds.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace lode::bench {

/// The `index`-th launch; uses it to rotate over buffers.
using Launch = std::function<Status(StreamRef stream, std::size_t index)>;

/// Measures on one device. Times are in milliseconds on the device per launch.
class Meter {
public:
    static Result<Meter> create(const Device& device) {
        auto stream = device.create_stream();
        if (!stream) return tl::unexpected(stream.error());
        auto start = device.create_event();
        if (!start) return tl::unexpected(start.error());
        auto end = device.create_event();
        if (!end) return tl::unexpected(end.error());
        return Meter(*std::move(stream), *std::move(start), *std::move(end));
    }

    [[nodiscard]] StreamRef stream() const noexcept { return stream_; }

    /// The median over rounds of batches. The time of one launch determines batch size and rounds,
    /// so that a measurement takes at most about two seconds.
    [[nodiscard]] Result<double> median(const Launch& launch) {
        constexpr double batch_ms = 20;
        constexpr double total_ms = 2000;
        constexpr int warm_ups = 3;
        double once = 0;
        for (int i = 0; i < warm_ups; ++i) {
            const auto time = batch(launch, 1);
            if (!time) return time;
            once = *time;
        }
        const auto size =
            static_cast<std::size_t>(std::clamp(batch_ms / std::max(once, 1e-3), 1.0, 64.0));
        const auto rounds =
            static_cast<int>(std::clamp(total_ms / (once * static_cast<double>(size)), 5.0, 31.0));
        std::vector<double> times;
        for (int i = 0; i < rounds; ++i) {
            const auto time = batch(launch, size);
            if (!time) return time;
            times.push_back(*time);
        }
        std::ranges::nth_element(times, times.begin() + rounds / 2);
        return times[static_cast<std::size_t>(rounds / 2)];
    }

private:
    Meter(Stream stream, Event start, Event end)
        : stream_(std::move(stream)), start_(std::move(start)), end_(std::move(end)) {}

    [[nodiscard]] Result<double> batch(const Launch& launch, std::size_t size) {
        Status status = start_.record(stream_);
        for (std::size_t i = 0; status && i < size; ++i)
            status = launch(stream_, next_++);
        if (status) status = end_.record(stream_);
        if (status) status = end_.sync();
        if (!status) return tl::unexpected(std::move(status).error());
        return end_.elapsed_ms_since(start_).map(
            [&](float ms) { return double{ms} / static_cast<double>(size); });
    }

    Stream stream_;
    Event start_;
    Event end_;
    std::size_t next_ = 0;
};

}  // namespace lode::bench
