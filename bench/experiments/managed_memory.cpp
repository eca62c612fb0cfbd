// Managed memory: the first kernel that touches pages of the host faults them in; a prefetch moves
// them beforehand (Programming Guide, "Performance Tuning" of unified memory).
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void increment(float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += 1;
})";

void managed(experiment::Bench& bench) {
    using namespace experiment;
    const std::size_t n = bench.size(std::size_t{1} << 25, std::size_t{1} << 12);
    const double bytes = sizeof(float) * static_cast<double>(n);
    const auto increment = bench.load<void(float*, int)>(text, "increment");
    auto buffer = unwrap(lode::ManagedBuffer<float>::allocate(bench.device, n));
    const bool prefetches = unwrap(lode::has_concurrent_managed_access(bench.device));
    const auto launch = [&](auto& memory) {
        return increment.launch(bench.stream, lode::cover(n), memory.span(), static_cast<int>(n));
    };
    const auto timer = unwrap(lode::Timer::create(bench.device));
    const auto measure = [&](bool prefetch) {
        std::vector<double> times;
        for (int run = 0; run < bench.size(5, 1); ++run) {
            std::ranges::fill(buffer.host(), 1.0F);  // The pages are the host's again.
            unwrap(timer.start(bench.stream));
            if (prefetch) unwrap(buffer.prefetch_async(bench.stream));
            unwrap(launch(buffer));
            unwrap(timer.stop(bench.stream));
            times.push_back(unwrap(timer.ms()));
            check(std::ranges::count(buffer.host(), 2.0F) == static_cast<std::ptrdiff_t>(n),
                  "every element is incremented");
        }
        const auto summary = lode::summarise(times, 1);
        return bench.timed ? Figure{summary.median_ms,
                                    (summary.max_ms - summary.min_ms) / summary.median_ms}
                           : Figure{};
    };
    const auto faulted = measure(false);
    bench.row("kernel that faults its pages in", faulted, "ms", reported());
    bench.row("  moved", Bench::gb_per_s(bytes, faulted), "GB/s", reported());
    if (prefetches) {
        const auto prefetched = measure(true);
        bench.row("prefetch and kernel", prefetched, "ms", reported());
        bench.row("  moved", Bench::gb_per_s(bytes, prefetched), "GB/s", reported());
        bench.row("  gain", faulted / prefetched, "x", at_least(1.5, "a fault takes tens of us"));
    } else {
        bench.remark("This device can't prefetch.");
    }
    auto plain = unwrap(bench.device.alloc<float>(n));
    unwrap(plain.zero());
    const auto resident = bench.ms([&] { return launch(buffer); });
    const auto device = bench.ms([&] { return launch(plain); });
    bench.expect(plain, "every element is incremented",
                 [&](std::size_t) { return bench.timed ? 12.0F : 1.0F; });
    bench.row("kernel, pages already there", resident, "ms", reported());
    bench.row("  beside device memory", device / resident, "x",
              at_least(0.9, "as fast as device memory"));
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "A page fault takes tens of microseconds: prefetches move managed "
                           "memory faster, and once it is there it is as fast as any other.",
                           managed);
}
