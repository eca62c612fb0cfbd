// From source to a checked result: compiles saxpy.cu for the current device, launches it on a
// million elements and compares each of them with the host's.
//
//     cmake -B build && cmake --build build && build/01_hello
//     saxpy on …: 1000000 elements, 0 wrong
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto saxpy = unwrap(device.load<void(float, const float*, float*, int)>(
        lode_embedded::kernels()[0].source(), "saxpy"));

    constexpr int n = 1'000'000;
    constexpr float a = 2.5F;
    std::vector<float> x(n);
    std::vector<float> y(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i) / n;
        y[i] = 1.0F - x[i];
    }
    const auto device_x = unwrap(device.upload(x));
    const auto device_y = unwrap(device.upload(y));

    const auto stream = unwrap(device.create_stream());
    unwrap(saxpy.launch(stream, lode::cover(n), a, device_x, device_y, n));
    unwrap(stream.sync());
    const auto result = unwrap(device_y.to_vector());

    // The compiler contracts a*x+y to one rounding, like std::fma: the bits are the same.
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += result[i] != std::fma(a, x[i], y[i]);
    std::printf("saxpy on %s: %d elements, %d wrong\n", device.name().c_str(), n, wrong);
    return wrong == 0 ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
