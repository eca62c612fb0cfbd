// Adds a million numbers in one cooperative launch, whose blocks wait for each other in the middle.
// The grid is as large as can be resident at once.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using Sum = unsigned long long;

void grid_sync() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    sample::check(device.properties().cooperative_launch, "the device has cooperative launches");
    const auto total = lode::unwrap(device.load<void(const unsigned*, int, Sum*, Sum*)>(
        lode::Source::file(sample::kernel_file("total.cu")), "total"));

    constexpr int n = 1'000'000;
    constexpr std::uint32_t threads = 256;
    std::vector<unsigned> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<unsigned>(i) * 2654435761U;  // Spreads over all 32 bits.
    const Sum expected = std::accumulate(values.begin(), values.end(), Sum{0});

    const int resident = lode::unwrap(total.occupancy(threads)).blocks_per_multiprocessor;
    const auto blocks = static_cast<std::uint32_t>(resident * device.properties().multiprocessors);
    const auto x = lode::unwrap(device.upload(values));
    const auto sums = lode::unwrap(device.alloc<Sum>(blocks));
    const auto result = lode::unwrap(device.alloc<Sum>(1));
    const auto stream = lode::unwrap(device.create_stream());
    lode::LaunchShape shape{.grid = {blocks}, .block = {threads}, .cooperative = true};
    lode::unwrap(total.launch(stream, shape, x, n, sums, result));
    lode::unwrap(stream.sync());
    const Sum sum = lode::unwrap(result.to_vector()).front();
    std::printf("%u blocks on %s: the sum is %llu\n", blocks, device.name().c_str(), sum);
    sample::check(sum == expected, "the sum is right");

    // A grid that can't be resident at once would wait for ever: the launch is refused.
    shape.grid.x = blocks + 1;
    const auto refused = total.launch(stream, shape, x, n, sums, result);
    sample::check(!refused, "one block more is refused");
    std::printf("one block more: %s\n", refused.error().message.c_str());
}

}  // namespace

int main() {
    return sample::run(grid_sync);
}
