// From source to a checked result: compiles saxpy.cu for the current device, launches it on a
// million elements and compares each of them with the host's.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

void hello() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto saxpy = lode::unwrap(device.load<void(float, const float*, float*, int)>(
        lode::Source::file(sample::kernel_file("saxpy.cu")), "saxpy"));

    constexpr int n = 1'000'000;
    constexpr float a = 2.5F;
    std::vector<float> x(n);
    std::vector<float> y(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i) / n;
        y[i] = 1.0F - x[i];
    }
    const auto device_x = lode::unwrap(device.upload(x));
    const auto device_y = lode::unwrap(device.upload(y));

    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(saxpy.launch(stream, lode::cover(n), a, device_x, device_y, n));
    lode::unwrap(stream.sync());
    const auto result = lode::unwrap(device_y.to_vector());

    // The compiler contracts a*x+y to one rounding, like std::fma: the bits are the same.
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += result[i] != std::fma(a, x[i], y[i]);
    std::printf("saxpy on %s: %d elements, %d wrong\n", device.name().c_str(), n, wrong);
    sample::check(wrong == 0, "every element is a*x+y");
}

}  // namespace

int main() {
    return sample::run(hello);
}
