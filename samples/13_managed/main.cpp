// Managed memory: host and device use the same addresses, without a copy in the program. Pages are
// prefetched where the device allows it.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

void managed() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    sample::check(device.properties().managed_memory, "the device has managed memory");
    const auto smooth = lode::unwrap(device.load<void(const float*, float*, int)>(
        lode::Source::file(sample::kernel_file("smooth.cu")), "smooth"));

    constexpr int n = 100'000;
    auto in = lode::unwrap(lode::ManagedBuffer<float>::allocate(device, n));
    auto out = lode::unwrap(lode::ManagedBuffer<float>::allocate(device, n));
    for (int i = 0; i < n; ++i)
        in[i] = static_cast<float>(i % 100 * 16);  // Every mean is exact.
    std::vector<float> expected(in.host().begin(), in.host().end());

    const bool prefetches = lode::unwrap(lode::has_concurrent_managed_access(device));
    const auto stream = lode::unwrap(device.create_stream());
    if (prefetches) {
        lode::unwrap(in.prefetch_async(stream));
        lode::unwrap(out.prefetch_async(stream));
    }
    constexpr int passes = 2;
    for (int pass = 0; pass < passes; ++pass) {
        lode::unwrap(smooth.launch(stream, lode::cover(n), in.span(), out.span(), n));
        std::swap(in, out);  // The result is in `in`.
    }
    if (prefetches) lode::unwrap(in.prefetch_to_host_async(stream));
    lode::unwrap(stream.sync());  // Before the host reads.

    for (int pass = 0; pass < passes; ++pass) {
        const auto from = expected;
        for (int i = 0; i < n; ++i)
            expected[i] = 0.25F * from[std::max(i - 1, 0)] + 0.5F * from[i] +
                          0.25F * from[std::min(i + 1, n - 1)];
    }
    std::printf("%d elements on %s, %s prefetches\n", n, device.name().c_str(),
                prefetches ? "with" : "without");
    sample::check(std::ranges::equal(in.host(), expected), "every element is the mean");
}

}  // namespace

int main() {
    return sample::run(managed);
}
