// Adds a million numbers in one cooperative launch, whose blocks wait for each other in the middle.
// The grid is as large as can be resident at once.
//
//     cmake -B build && cmake --build build && build/11_grid_sync
//     … blocks on …: the sum is 2147478263136480
//     one block more: Blocks of a cooperative grid (…) exceeds …, the limit of device 0 …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

using Sum = unsigned long long;

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    check(device.properties().cooperative_launch, "the device has cooperative launches");
    const auto total = unwrap(device.load<void(const unsigned*, int, Sum*, Sum*)>(
        lode_embedded::kernels()[0].source(), "total"));

    constexpr int n = 1'000'000;
    constexpr std::uint32_t threads = 256;
    std::vector<unsigned> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<unsigned>(i) * 2654435761U;  // Spreads over all 32 bits.
    const Sum expected = std::accumulate(values.begin(), values.end(), Sum{0});

    const int resident = unwrap(total.occupancy(threads)).blocks_per_multiprocessor;
    const auto blocks = static_cast<std::uint32_t>(resident * device.properties().multiprocessors);
    const auto x = unwrap(device.upload(values));
    const auto sums = unwrap(device.alloc<Sum>(blocks));
    const auto result = unwrap(device.alloc<Sum>(1));
    const auto stream = unwrap(device.create_stream());
    lode::LaunchShape shape{.grid = {blocks}, .block = {threads}, .cooperative = true};
    unwrap(total.launch(stream, shape, x, n, sums, result));
    unwrap(stream.sync());
    const Sum sum = unwrap(result.to_vector()).front();
    std::printf("%u blocks on %s: the sum is %llu\n", blocks, device.name().c_str(), sum);
    check(sum == expected, "the sum is right");

    // A grid that can't be resident at once would wait for ever: the launch is refused.
    shape.grid.x = blocks + 1;
    const auto refused = total.launch(stream, shape, x, n, sums, result);
    check(!refused, "one block more is refused");
    std::printf("one block more: %s\n", refused.error().message.c_str());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
