// Managed memory: host and device use the same addresses, without a copy in the program. Pages are
// prefetched where the device allows it.
//
//     cmake -B build && cmake --build build && build/13_managed
//     100000 elements on …, … prefetches
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    check(device.properties().managed_memory, "the device has managed memory");
    const auto smooth = unwrap(device.load<void(const float*, float*, int)>(
        lode_embedded::kernels()[0].source(), "smooth"));

    constexpr int n = 100'000;
    auto in = unwrap(lode::ManagedBuffer<float>::allocate(device, n));
    auto out = unwrap(lode::ManagedBuffer<float>::allocate(device, n));
    for (int i = 0; i < n; ++i)
        in[i] = static_cast<float>(i % 100 * 16);  // Every mean is exact.
    std::vector<float> expected(in.host().begin(), in.host().end());

    const bool prefetches = unwrap(lode::has_concurrent_managed_access(device));
    const auto stream = unwrap(device.create_stream());
    if (prefetches) {
        unwrap(in.prefetch_async(stream));
        unwrap(out.prefetch_async(stream));
    }
    constexpr int passes = 2;
    for (int pass = 0; pass < passes; ++pass) {
        unwrap(smooth.launch(stream, lode::cover(n), in.span(), out.span(), n));
        std::swap(in, out);  // The result is in `in`.
    }
    if (prefetches) unwrap(in.prefetch_to_host_async(stream));
    unwrap(stream.sync());  // Before the host reads.

    for (int pass = 0; pass < passes; ++pass) {
        const auto from = expected;
        for (int i = 0; i < n; ++i)
            expected[i] = 0.25F * from[std::max(i - 1, 0)] + 0.5F * from[i] +
                          0.25F * from[std::min(i + 1, n - 1)];
    }
    std::printf("%d elements on %s, %s prefetches\n", n, device.name().c_str(),
                prefetches ? "with" : "without");
    check(std::ranges::equal(in.host(), expected), "every element is the mean");
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
