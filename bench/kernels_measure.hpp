// Timing for bench/kernels: device events around batches of launches. Candidates take turns, in
// another order in each round, so that drifting clocks affect all of them alike, and so does what
// the batch before does to them.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace lode::bench {

/// The `index`-th launch; uses it to rotate over buffers.
using TimedLaunch = std::function<Status(StreamRef stream, std::size_t index)>;

/// Times in milliseconds on the device per launch, over the rounds.
struct Times {
    double median = 0;
    double low = 0;          ///< The first quartile.
    double high = 0;         ///< The third quartile.
    std::size_t rounds = 0;  ///< Batches.
    std::size_t batch = 0;   ///< Launches in each.
};

/// Measures on one device.
class Meter {
public:
    static Result<Meter> create(const Device& device, std::size_t rounds);

    [[nodiscard]] StreamRef stream() const noexcept { return stream_; }

    /// The times of each candidate, in their order. The time of one launch determines the size of
    /// its batches, of about 2 ms, and fewer rounds are made if a round of all takes long. Errors:
    /// the first one of a launch.
    [[nodiscard]] Result<std::vector<Times>> in_turns(std::span<const TimedLaunch> candidates);

    /// The times of one launch alone.
    [[nodiscard]] Result<Times> alone(const TimedLaunch& launch);

private:
    Meter(Stream stream, Event start, Event end, std::size_t rounds)
        : stream_(std::move(stream)),
          start_(std::move(start)),
          end_(std::move(end)),
          rounds_(rounds) {}

    /// Milliseconds per launch of `size` launches.
    [[nodiscard]] Result<double> batch(const TimedLaunch& launch, std::size_t size);

    Stream stream_;
    Event start_;
    Event end_;
    std::size_t rounds_;
    std::size_t next_ = 0;
};

}  // namespace lode::bench
