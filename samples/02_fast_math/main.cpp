// One source, two option sets: what fast maths costs in accuracy and saves in time, registers and
// local memory. The exact sinf has a slow path for |x| > 105615 (Programming Guide 5.4.1).
//
//     cmake -B build && cmake --build build && build/02_fast_math
//     maths  registers  local   |x| < pi: ms  max error   x to 1e9: ms  max error
//     ieee … B …
//     fast … B …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

using Sine = lode::Kernel<void(const float*, float*, int)>;

struct Measurement {
    float ms = 0;         // One launch, the mean of several.
    double absolute = 0;  // The largest error against the host's double precision.
    double ulp = 0;       // The same in units in the last place of the exact value.
};

Measurement measure(const lode::Device& device, const Sine& sine, float from, float to) {
    constexpr int n = 1 << 22;
    constexpr int launches = 20;
    std::vector<float> x(n);
    for (int i = 0; i < n; ++i)
        x[i] = from + (to - from) * (static_cast<float>(i) / n);
    const auto input = unwrap(device.upload(x));
    const auto output = unwrap(device.alloc<float>(n));
    const auto stream = unwrap(device.create_stream());
    const auto start = unwrap(device.create_event());
    const auto stop = unwrap(device.create_event());

    unwrap(sine.launch(stream, lode::cover(n), input, output, n));  // Warms up.
    unwrap(start.record(stream));
    for (int i = 0; i < launches; ++i)
        unwrap(sine.launch(stream, lode::cover(n), input, output, n));
    unwrap(stop.record(stream));
    unwrap(stream.sync());

    Measurement result{.ms = unwrap(stop.elapsed_ms_since(start)) / launches};
    const auto y = unwrap(output.to_vector());
    for (int i = 0; i < n; ++i) {
        const double exact = std::sin(static_cast<double>(x[i]));
        const auto rounded = std::abs(static_cast<float>(exact));
        const double ulp = std::nextafter(rounded, std::numeric_limits<float>::max()) - rounded;
        result.absolute = std::max(result.absolute, std::abs(y[i] - exact));
        result.ulp = std::max(result.ulp, std::abs(y[i] - exact) / ulp);
    }
    return result;
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    std::printf("maths  registers  local   |x| < pi: ms  max error   x to 1e9: ms  max error\n");
    for (const bool fast : {false, true}) {
        lode::KernelOptions options;
        if (fast) options.compile.math.preset = lode::Math::Preset::fast;
        const auto sine = unwrap(device.load<void(const float*, float*, int)>(
            lode_embedded::kernels()[0].source(), "sine", options));
        const auto small = measure(device, sine, -3.1415925F, 3.1415925F);
        const auto huge = measure(device, sine, 1e6F, 1e9F);
        std::printf("%-5s  %9d  %3zu B  %14.4f  %9.2g  %13.4f  %9.2g\n", fast ? "fast" : "ieee",
                    sine.attributes().registers, sine.attributes().local_bytes, small.ms,
                    small.absolute, huge.ms, huge.absolute);
        if (fast) {  // Programming Guide D.2, Table 9: the bound holds only on [-pi, pi].
            check(small.absolute <= std::exp2(-21.41), "__sinf is within 2^-21.41");
        } else {  // Programming Guide D.1, Table 6: for every argument.
            check(std::max(small.ulp, huge.ulp) <= 2.0, "sinf is within 2 ulp");
        }
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
