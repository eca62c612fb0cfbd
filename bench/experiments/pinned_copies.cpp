// Copies between host and device: pageable, page-locked and write-combined memory, by size (Best
// Practices Guide, "Pinned Memory").
#include "bench/experiments/experiment.hpp"

namespace {

void copies(experiment::Bench& bench) {
    using namespace experiment;
    const auto most = bench.size(std::size_t{1} << 26, std::size_t{1} << 14);
    std::vector<float> pageable(most);
    for (std::size_t i = 0; i < most; ++i)
        pageable[i] = static_cast<float>(i % 8191);
    const auto pinned = unwrap(bench.device.alloc_pinned<float>(most));
    const auto combined =
        unwrap(lode::PinnedBuffer<float>::allocate(bench.device, most, {.write_combined = true}));
    auto memory = unwrap(bench.device.alloc<float>(most));
    for (std::size_t n = bench.size(std::size_t{1} << 14, most); n <= most; n *= 64) {
        const double bytes = sizeof(float) * static_cast<double>(n);
        char size[32];
        std::snprintf(size, sizeof size, "%.4g MB ", bytes / 1e6);
        const auto part = unwrap(memory.span().first(n));
        const auto measure = [&](std::span<float> host, bool to_device) {
            const auto time = bench.host_ms([&] {
                unwrap(to_device ? part.copy_from_async(bench.stream, host)
                                 : part.copy_to_async(bench.stream, host));
            });
            bench.expect(part, "every element is copied", [](std::size_t i) { return i % 8191; });
            check(host[n - 1] == static_cast<float>((n - 1) % 8191), "the last element is right");
            if (to_device) unwrap(part.zero());
            return Bench::gb_per_s(bytes, time);
        };
        std::copy(pageable.begin(), pageable.end(), pinned.begin());
        std::copy(pageable.begin(), pageable.end(), combined.begin());
        const auto slow = measure(std::span(pageable).first(n), true);
        const auto fast = measure(pinned.span().first(n), true);
        const auto written = measure(combined.span().first(n), true);
        const bool large = n == most;
        bench.row(size + std::string("to the device, pageable"), slow, "GB/s", reported());
        bench.row(size + std::string("to the device, pinned"), fast, "GB/s",
                  large ? at_least(10, "PCIe 2: 6 of 8") : reported());
        bench.row("  gain", fast / slow, "x", large ? at_least(1.5) : reported());
        bench.row(size + std::string("to the device, write-combined"), written, "GB/s", reported());
        bench.row("  gain over pinned", written / fast, "x", reported("up to 1.4 in the guide"));
        unwrap(part.copy_from(std::span<const float>(pageable).first(n)));
        std::fill(pinned.begin(), pinned.end(), 0.0F);
        const auto slow_back = measure(std::span(pageable).first(n), false);
        const auto fast_back = measure(pinned.span().first(n), false);
        bench.row(size + std::string("to the host, pageable"), slow_back, "GB/s", reported());
        bench.row(size + std::string("to the host, pinned"), fast_back, "GB/s", reported());
        bench.row("  gain", fast_back / slow_back, "x", large ? at_least(1.5) : reported());
        if (large)
            bench.row("device memory beside the bus", Figure{bench.theoretical_gb_per_s()} / fast,
                      "x", at_least(5, "M2090: 177.6 to 8; V100: 898 to 16"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Page-locked memory has the highest bandwidth between host and device "
                           "(6 GB/s on PCIe 2), far below that of the device's own memory.",
                           copies);
}
