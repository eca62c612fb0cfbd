// Copies from global to shared memory that run while the block computes, with two buffers, beside
// loads through registers. Both kernels compute the same.
//
//     cmake -B build && cmake --build build && build/23_async_copy
//     with_loads  … elements on … in … ms
//     with_copies … elements on … in … ms
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

constexpr int tile = 256;

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto library =
        unwrap(device.load(unwrap(device.compile(lode_embedded::kernels()[0].source()))));

    const int tiles = runtime.driver().is_emulator() ? 64 : 1 << 15;
    std::vector<float> values(static_cast<std::size_t>(tiles) * tile);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 1000) / 8;
    const auto x = unwrap(device.upload(values));
    const auto stream = unwrap(device.create_stream());
    const lode::LaunchShape shape{
        .grid = {static_cast<std::uint32_t>(4 * device.properties().multiprocessors)},
        .block = {tile}};

    std::vector<std::vector<float>> results;
    for (const char* const name : {"with_loads", "with_copies"}) {
        const auto kernel = unwrap(library.kernel<void(const float*, float*, int)>(name));
        const auto y = unwrap(device.alloc<float>(values.size()));
        const auto timing = unwrap(lode::time_work(
            device, stream, {}, [&] { return kernel.launch(stream, shape, x, y, tiles); }));
        std::printf("%-11s %zu elements on %s in %.3f ms\n", name, values.size(),
                    device.name().c_str(), timing.min_ms);
        results.push_back(unwrap(y.to_vector()));
    }
    check(results[0] == results[1], "both kernels compute the same");
    for (int t = 0; t < tiles; ++t) {
        double sum = 0;
        for (int i = 0; i < tile; ++i) {
            const std::size_t at = static_cast<std::size_t>(t) * tile + i;
            sum += values[at];
            check(std::abs(results[0][at] - sum / (i + 1)) < 1e-2, "every mean is right");
        }
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
