/// \file
/// Measuring work on a device: times from events, and memory throughput.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/stream.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Device;

/// Measures the time between two points of a stream on the device's own clock, with a resolution of
/// about 0.5 µs (Best Practices Guide 8.1.2). Move-only; keeps the device alive. Use it from one
/// thread at a time.
///
/// Measure on a stream that no other work shares, and not on the default stream, where work of
/// other streams may come between the two points.
class Timer {
public:
    /// A timer without events, to be assigned to; every use of it fails with invalid_argument.
    Timer() noexcept = default;

    /// Creates the two events. Errors: those of Device::create_event().
    [[nodiscard]] static Result<Timer> create(const Device& device);

    /// Marks the beginning. Errors: those of Event::record().
    [[nodiscard]] Status start(StreamRef stream) const { return begin_.record(stream); }
    /// Marks the end. Errors: those of Event::record().
    [[nodiscard]] Status stop(StreamRef stream) const { return end_.record(stream); }
    /// Waits for the end and returns the milliseconds since the beginning. Errors: invalid_argument
    /// before start() and stop(); device_lost if the work failed.
    [[nodiscard]] Result<double> ms() const;

private:
    Timer(Event begin, Event end) noexcept : begin_(std::move(begin)), end_(std::move(end)) {}
    Event begin_;
    Event end_;
};

/// How time_work() repeats the work.
struct TimingOptions {
    int warm_ups = 1;      ///< Runs that aren't measured: loading, caches, clocks.
    int measurements = 5;  ///< Measured times.
    int runs = 1;          ///< Runs per measured time, for work near the resolution of the events.
};

/// Times of one run of some work, in milliseconds.
struct Timing {
    double min_ms = 0;     ///< The shortest, which other work disturbed least.
    double median_ms = 0;  ///< Half of the measurements are longer.
    double max_ms = 0;     ///< The longest.
};

/// The Timing of measured times, each of which is for `runs` runs. All zero without times.
[[nodiscard]] Timing summarise(std::vector<double> milliseconds, int runs);

/// Refuses options that aren't positive; no warm-up is allowed.
[[nodiscard]] Status check_timing(const TimingOptions& options);

/// Runs `enqueue()`, which returns Status after enqueuing work on `stream`, and measures the time
/// on the device. Errors: invalid_argument for options out of range; those of `enqueue` and Timer.
template <std::invocable Enqueue>
[[nodiscard]] Result<Timing> time_work(const Device& device, StreamRef stream,
                                       const TimingOptions& options, Enqueue&& enqueue) {
    auto ready = check_timing(options);
    for (int run = 0; ready && run < options.warm_ups; ++run)
        ready = enqueue();
    if (!ready) return tl::unexpected(std::move(ready).error());
    const auto timer = Timer::create(device);
    if (!timer) return tl::unexpected(timer.error());
    std::vector<double> times;
    for (int measured = 0; measured < options.measurements; ++measured) {
        ready = timer->start(stream);
        for (int run = 0; ready && run < options.runs; ++run)
            ready = enqueue();
        if (ready) ready = timer->stop(stream);
        if (!ready) return tl::unexpected(std::move(ready).error());
        const auto time = timer->ms();
        if (!time) return tl::unexpected(time.error());
        times.push_back(*time);
    }
    return summarise(std::move(times), options.runs);
}

/// How much memory some work reads and writes in a time.
struct Throughput {
    std::uint64_t bytes_read = 0;     ///< That the algorithm needs, without what caches repeat.
    std::uint64_t bytes_written = 0;  ///< The same for writes.
    double ms = 0;                    ///< Milliseconds.

    /// Effective bandwidth in bytes per second, 0 without a time (Best Practices Guide 8.2.2). A
    /// copy of 2048 × 2048 floats moves 2048² × 4 × 2 bytes.
    [[nodiscard]] constexpr double bytes_per_second() const noexcept {
        constexpr double ms_per_second = 1e3;
        const double bytes = static_cast<double>(bytes_read) + static_cast<double>(bytes_written);
        return ms > 0 ? bytes * ms_per_second / ms : 0;
    }
    /// The percentage of a theoretical bandwidth in bytes per second, such as
    /// Device::theoretical_bandwidth(); 0 if that is 0.
    [[nodiscard]] constexpr double percent_of(double theoretical) const noexcept {
        constexpr double whole = 100;
        return theoretical > 0 ? bytes_per_second() / theoretical * whole : 0;
    }
    /// "133.2 GB/s", with 10⁹ bytes per GB as for the theoretical bandwidth.
    [[nodiscard]] std::string to_string() const;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
