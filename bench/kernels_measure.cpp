#include "kernels_measure.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace lode::bench {
namespace {

Times times_of(std::vector<double> milliseconds, std::size_t batch) {
    std::ranges::sort(milliseconds);
    const std::size_t count = milliseconds.size();
    return {milliseconds[count / 2], milliseconds[count / 4], milliseconds[(count * 3 - 1) / 4],
            count, batch};
}

}  // namespace

Result<Meter> Meter::create(const Device& device, std::size_t rounds) {
    auto stream = device.create_stream();
    if (!stream) return tl::unexpected(stream.error());
    auto start = device.create_event();
    if (!start) return tl::unexpected(start.error());
    auto end = device.create_event();
    if (!end) return tl::unexpected(end.error());
    return Meter(*std::move(stream), *std::move(start), *std::move(end), rounds);
}

Result<std::vector<Times>> Meter::in_turns(std::span<const TimedLaunch> candidates) {
    constexpr double batch_ms = 2;
    constexpr double total_ms = 3000;
    constexpr int warm_ups = 3;
    constexpr std::size_t least_rounds = 5;
    std::vector<std::size_t> sizes;
    double round_ms = 0;
    for (const auto& launch : candidates) {
        double once = 0;
        for (int i = 0; i < warm_ups; ++i) {
            const auto time = batch(launch, 1);
            if (!time) return tl::unexpected(time.error());
            once = *time;
        }
        sizes.push_back(
            static_cast<std::size_t>(std::clamp(batch_ms / std::max(once, 1e-3), 1.0, 128.0)));
        round_ms += once * static_cast<double>(sizes.back());
    }
    const std::size_t affordable =
        std::max(least_rounds, static_cast<std::size_t>(total_ms / std::max(round_ms, 1e-3)));
    const std::size_t rounds = std::min(rounds_, affordable);
    std::vector<std::vector<double>> milliseconds(candidates.size());
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 generator(std::random_device{}());
    for (std::size_t round = 0; round < rounds; ++round) {
        std::ranges::shuffle(order, generator);
        for (const std::size_t i : order) {
            const auto time = batch(candidates[i], sizes[i]);
            if (!time) return tl::unexpected(time.error());
            milliseconds[i].push_back(*time);
        }
    }
    std::vector<Times> times;
    for (std::size_t i = 0; i < candidates.size(); ++i)
        times.push_back(times_of(std::move(milliseconds[i]), sizes[i]));
    return times;
}

Result<Times> Meter::alone(const TimedLaunch& launch) {
    return in_turns(std::span(&launch, 1)).map([](const std::vector<Times>& times) {
        return times.front();
    });
}

Result<double> Meter::batch(const TimedLaunch& launch, std::size_t size) {
    Status status = start_.record(stream_);
    for (std::size_t i = 0; status && i < size; ++i)
        status = launch(stream_, next_++);
    if (status) status = end_.record(stream_);
    if (status) status = end_.sync();
    if (!status) return tl::unexpected(std::move(status).error());
    return end_.elapsed_ms_since(start_).map(
        [&](float ms) { return double{ms} / static_cast<double>(size); });
}

}  // namespace lode::bench
