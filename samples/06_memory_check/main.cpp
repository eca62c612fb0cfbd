// Finds a write past the end of a buffer that goes unnoticed on a GPU: runs the kernel on lode's
// software device, which checks every access, and prints its report with the kernel's source line.
//
//     cmake -B build && cmake --build build && build/06_memory_check
//     device_lost: stencil.cu:6: mean2 writes 4 bytes past the end of a 4000-byte allocation
//     …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <exception>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

int main() try {
    const auto runtime = unwrap(lode::Runtime::open({.driver = {.emulator = true}}));
    const auto device = unwrap(runtime.device());
    const auto mean2 = unwrap(device.load<void(const float*, float*, int)>(
        lode_embedded::kernels()[0].source(), "mean2"));

    constexpr int n = 1000;
    const auto in = unwrap(device.upload(std::vector<float>(n, 1.0F)));
    const auto out = unwrap(device.upload(std::vector<float>(n, 0.0F)));
    const auto stream = unwrap(device.create_stream());
    const auto launched = mean2.launch(stream, lode::cover(n), in, out, n);
    const auto finished = launched ? stream.sync() : launched;
    if (finished) return 1;
    std::printf("%s\n", finished.error().describe().c_str());
    return finished.error().code == lode::Errc::device_lost ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
