// A kernel reads and writes the host's memory over the bus, without copies: pinned memory of lode,
// and memory that the program allocated itself and registers.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <vector>

namespace {

void zero_copy() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto negate = lode::unwrap(device.load<void(const float*, float*, int)>(
        lode::Source::file(sample::kernel_file("negate.cu")), "negate"));

    constexpr int n = 1'000'000;
    const auto x = lode::unwrap(lode::PinnedBuffer<float>::allocate(device, n));
    for (int i = 0; i < n; ++i)
        x[i] = static_cast<float>(i);
    std::vector<float> y(n);
    const auto registered =
        lode::unwrap(lode::RegisteredMemory<float>::create(device, std::span(y)));
    const auto device_x = lode::unwrap(x.device_span());
    const auto device_y = lode::unwrap(registered.device_span());

    const auto stream = lode::unwrap(device.create_stream());
    const auto timing = lode::unwrap(lode::time_work(device, stream, {}, [&] {
        return negate.launch(stream, lode::cover(n), device_x, device_y, n);
    }));
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += y[i] != -x[i];
    const lode::Throughput moved{x.size() * sizeof(float), y.size() * sizeof(float), timing.min_ms};
    std::printf("%d elements of host memory on %s in %.3f ms (%s), %d wrong\n", n,
                device.name().c_str(), timing.min_ms, moved.to_string().c_str(), wrong);
    sample::check(wrong == 0, "every element is negated");
}

}  // namespace

int main() {
    return sample::run(zero_copy);
}
