#include "base/try.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/timing.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

Result<Timer> Timer::create(const Device& device) {
    LODE_TRY_ASSIGN(Event begin, device.create_event());
    LODE_TRY_ASSIGN(Event end, device.create_event());
    return Timer(std::move(begin), std::move(end));
}

Result<double> Timer::ms() const {
    if (!end_) return detail::fail_empty("timer");
    LODE_TRY(end_.sync());
    return end_.elapsed_ms_since(begin_).map([](float ms) { return double{ms}; });
}

Timing summarise(std::vector<double> milliseconds, int runs) {
    if (milliseconds.empty() || runs < 1) return {};
    std::ranges::sort(milliseconds);
    const std::size_t middle = milliseconds.size() / 2;
    const bool is_odd = milliseconds.size() % 2 == 1;
    const double median =
        is_odd ? milliseconds[middle] : (milliseconds[middle - 1] + milliseconds[middle]) / 2;
    return {milliseconds.front() / runs, median / runs, milliseconds.back() / runs};
}

Status check_timing(const TimingOptions& options) {
    if (options.warm_ups >= 0 && options.measurements > 0 && options.runs > 0) return {};
    return fail(Errc::invalid_argument,
                fmt::format("A timing needs at least 0 warm-ups, 1 measurement and 1 run, not {}, "
                            "{} and {}.",
                            options.warm_ups, options.measurements, options.runs));
}

std::string Throughput::to_string() const {
    constexpr double bytes_per_gigabyte = 1e9;
    return fmt::format("{:.1f} GB/s", bytes_per_second() / bytes_per_gigabyte);
}

}  // namespace LODE_NAMESPACE
