// A kernel reads and writes the host's memory over the bus, without copies: pinned memory of lode,
// and memory that the program allocated itself and registers.
//
//     cmake -B build && cmake --build build && build/15_zero_copy
//     1000000 elements of host memory on … in … ms (… GB/s), 0 wrong
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <exception>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto negate = unwrap(device.load<void(const float*, float*, int)>(
        lode_embedded::kernels()[0].source(), "negate"));

    constexpr int n = 1'000'000;
    const auto x = unwrap(lode::PinnedBuffer<float>::allocate(device, n));
    for (int i = 0; i < n; ++i)
        x[i] = static_cast<float>(i);
    std::vector<float> y(n);
    const auto registered = unwrap(lode::RegisteredMemory<float>::create(device, std::span(y)));
    const auto device_x = unwrap(x.device_span());
    const auto device_y = unwrap(registered.device_span());

    const auto stream = unwrap(device.create_stream());
    const auto timing = unwrap(lode::time_work(device, stream, {}, [&] {
        return negate.launch(stream, lode::cover(n), device_x, device_y, n);
    }));
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += y[i] != -x[i];
    const lode::Throughput moved{x.size() * sizeof(float), y.size() * sizeof(float), timing.min_ms};
    std::printf("%d elements of host memory on %s in %.3f ms (%s), %d wrong\n", n,
                device.name().c_str(), timing.min_ms, moved.to_string().c_str(), wrong);
    return wrong == 0 ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
