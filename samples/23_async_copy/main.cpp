// Copies from global to shared memory that run while the block computes, with two buffers, beside
// loads through registers. Both kernels compute the same.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int tile = 256;

void async_copy() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto library = lode::unwrap(device.load(
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("smooth.cu"))))));

    const int tiles = runtime.driver().is_emulator() ? 64 : 1 << 15;
    std::vector<float> values(static_cast<std::size_t>(tiles) * tile);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 1000) / 8;
    const auto x = lode::unwrap(device.upload(values));
    const auto stream = lode::unwrap(device.create_stream());
    const lode::LaunchShape shape{
        .grid = {static_cast<std::uint32_t>(4 * device.properties().multiprocessors)},
        .block = {tile}};

    std::vector<std::vector<float>> results;
    for (const char* const name : {"with_loads", "with_copies"}) {
        const auto kernel = lode::unwrap(library.kernel<void(const float*, float*, int)>(name));
        const auto y = lode::unwrap(device.alloc<float>(values.size()));
        const auto timing = lode::unwrap(lode::time_work(
            device, stream, {}, [&] { return kernel.launch(stream, shape, x, y, tiles); }));
        std::printf("%-11s %zu elements on %s in %.3f ms\n", name, values.size(),
                    device.name().c_str(), timing.min_ms);
        results.push_back(lode::unwrap(y.to_vector()));
    }
    sample::check(results[0] == results[1], "both kernels compute the same");
    for (int t = 0; t < tiles; ++t) {
        double sum = 0;
        for (int i = 0; i < tile; ++i) {
            const std::size_t at = static_cast<std::size_t>(t) * tile + i;
            sum += values[at];
            sample::check(std::abs(results[0][at] - sum / (i + 1)) < 1e-2, "every mean is right");
        }
    }
}

}  // namespace

int main() {
    return sample::run(async_copy);
}
