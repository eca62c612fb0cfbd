// The rate of copies against their size, on the first device: a kernel and the driver's copy on the
// device, and copies between it and page-locked or pageable memory of the host. Copies on the
// device count what they read and what they write.
//
//     lode_bench_transfers [--json FILE]
//
// Each figure is the median of 11 measurements; what a small copy takes is measured over many. Up
// to the size of the L2 cache the copies on the device don't reach the memory.
#include "bench/results.hpp"
#include "bench/timing.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace lode;

constexpr int measurements = 11;
constexpr double bytes_per_measurement = 256e6;  // More than a size: the copy is repeated.
constexpr int most_repeats = 200;

constexpr const char* text = R"(
extern "C" __global__ void copy(int4* out, const int4* in, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
})";

class Bench {
public:
    explicit Bench(bench::Results& results)
        : results_(results),
          runtime_(unwrap(Runtime::open())),
          device_(unwrap(runtime_.device())),
          stream_(unwrap(device_.create_stream())) {
        results.set("device", device_.name());
        results.set("driver", runtime_.driver().version_text());
        if (runtime_.driver().is_emulator()) results.set("software_device", "yes");
        fmt::print("{} (driver for CUDA {}), GB/s, medians of {} measurements\n\n", device_.name(),
                   runtime_.driver().version_text(), measurements);
    }

    void run() {
        const std::size_t most =
            runtime_.driver().is_emulator() ? std::size_t{1} << 18 : std::size_t{1} << 30;
        const auto copy = unwrap(device_.load<void(unsigned*, const unsigned*, unsigned)>(
            Source::text(text, "copy.cu"), "copy"));
        std::vector<unsigned> values(most / sizeof(unsigned));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<unsigned>(i) * 2654435761U;
        auto in = unwrap(device_.upload(values));
        auto out = unwrap(device_.alloc<unsigned>(values.size()));
        const auto pinned = unwrap(device_.alloc_pinned<unsigned>(values.size()));
        std::ranges::copy(values, pinned.begin());
        std::vector<unsigned> host(values.size());

        fmt::print("{:>12}  {:>10}  {:>10}  {:>12}  {:>12}  {:>12}  {:>12}\n", "bytes", "kernel",
                   "driver", "to, pinned", "to, pageable", "from, pinned", "from, page.");
        for (std::size_t bytes = 4096; bytes <= most; bytes *= 4) {
            const std::size_t count = bytes / sizeof(unsigned);
            const auto from = unwrap(lode::DeviceSpan<const unsigned>(in.span()).first(count));
            const auto to = unwrap(out.span().first(count));
            const auto locked = std::span(pinned.span()).first(count);
            const auto of_host = std::span(values).first(count);
            const auto back = std::span(host).first(count);
            fmt::print("{:>12}", bytes);
            const auto verify = [&] {
                unwrap(to.copy_to(back));
                if (!std::ranges::equal(back, of_host)) throw std::runtime_error("a copy is wrong");
                unwrap(out.zero());
            };
            const auto n = static_cast<unsigned>(count / 4);
            add("on the device, kernel of 16 bytes a thread", bytes, 2,
                [&] { return copy.launch(stream_, cover(n, 256), to, from, n); });
            verify();
            add("on the device, the driver's copy", bytes, 2,
                [&] { return to.copy_from_async(stream_, from); });
            verify();
            add("to the device, page-locked", bytes, 1,
                [&] { return to.copy_from_async(stream_, std::span<const unsigned>(locked)); });
            verify();
            add("to the device, pageable", bytes, 1,
                [&] { return to.copy_from(std::span<const unsigned>(of_host)); });
            verify();
            std::ranges::fill(locked, 0U);
            std::ranges::fill(back, 0U);
            add("from the device, page-locked", bytes, 1,
                [&] { return from.copy_to_async(stream_, locked); });
            add("from the device, pageable", bytes, 1, [&] { return from.copy_to(back); });
            if (!std::ranges::equal(locked, of_host) || !std::ranges::equal(back, of_host))
                throw std::runtime_error("a copy is wrong");
            fmt::print("\n");
        }
    }

private:
    /// `factor`: 2 for copies that read and write the device's memory. By the host's clock, until
    /// the device has finished.
    void add(const char* series, std::size_t bytes, int factor,
             const std::function<Status()>& enqueue) {
        const auto repeats = std::clamp(
            static_cast<int>(bytes_per_measurement / static_cast<double>(bytes)), 1, most_repeats);
        std::vector<double> rates;
        for (int i = 0; i <= measurements; ++i) {
            const double ns = bench::time_each(1, [&] {
                for (int k = 0; k < repeats; ++k)
                    unwrap(enqueue());
                unwrap(stream_.sync());
            });
            if (i > 0) rates.push_back(static_cast<double>(bytes) * factor * repeats / ns);
        }
        const auto figure = bench::measured({.group = "copy rate",
                                             .series = series,
                                             .unit = "GB/s",
                                             .x = static_cast<double>(bytes),
                                             .x_name = "bytes",
                                             .more_is_better = true},
                                            rates);
        fmt::print("  {:>10.2f}", figure.value);
        results_.add(figure);
    }

    bench::Results& results_;
    Runtime runtime_;
    Device device_;
    Stream stream_;
};

}  // namespace

int main(int count, char** arguments) {
    try {
        bench::Results results("transfers", count, arguments);
        Bench(results).run();
        results.write();
        return 0;
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
}
