// Theoretical and effective bandwidth (Best Practices Guide, "Theoretical Bandwidth Calculation"
// and "Effective Bandwidth Calculation").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void copy(ELEMENT* out, const ELEMENT* in, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i];
})";

void bandwidth(experiment::Bench& bench) {
    using namespace experiment;
    // The guides' worked examples, by the formula that the device's own figure comes from.
    constexpr double exact = 1e-3;
    bench.row("formula for the M2090: 1.85 GHz, 384 bits",
              lode::theoretical_bandwidth(1'850'000, 384) / 1e9, "GB/s", about(177.6, exact));
    bench.row("formula for the V100: 877 MHz, 4096 bits",
              lode::theoretical_bandwidth(877'000, 4096) / 1e9, "GB/s", about(898, exact));
    const auto clocks = bench.device.clocks();
    bench.row("memory clock", clocks.memory_khz / 1e3, "MHz", reported());
    bench.row("bus", bench.device.properties().memory_bus_bits, "bits", reported());
    const double theory = bench.theoretical_gb_per_s();
    bench.row(
        "theoretical bandwidth", theory, "GB/s",
        about(clocks.memory_khz * 1e3 * bench.device.properties().memory_bus_bits / 8 * 2 / 1e9,
              exact, "clock x bits / 8 x 2"));

    // One element per thread on its way, a float, is too little for a memory of today.
    const auto load = [&](const char* element) {
        return bench.load<void(float*, const float*, int)>(text, "copy", {{"ELEMENT", element}});
    };
    const auto copy = load("float");
    const auto copy4 = load("float4");
    for (const std::size_t side : {2048, 16384}) {
        const std::size_t n = bench.timed ? side * side : side;
        const auto value = [](std::size_t i) { return static_cast<float>(i % 8191); };
        const auto in = bench.fill<float>(n, value);
        auto out = unwrap(bench.device.alloc<float>(n));
        const double bytes = 2.0 * sizeof(float) * static_cast<double>(n);
        const std::string name = std::to_string(side) + " x " + std::to_string(side) + " floats";
        const bool cached = bytes < 2 * static_cast<double>(bench.device.properties().l2_bytes);
        const auto rows = [&](const std::string& what, Figure time, bool narrow = false) {
            bench.expect(out, "every element is copied", value);
            const auto effective = Bench::gb_per_s(bytes, time);
            bench.row(what, effective, "GB/s", reported(cached ? "partly in the L2 cache" : ""));
            if (!cached)
                bench.row(what + ", of the theoretical", effective / Figure{theory / 100}, "%",
                          narrow ? reported("4 bytes a thread on their way")
                                 : at_least(75, "M2090: 73, with ECC"));
            unwrap(out.zero());
        };
        const auto narrow = bench.ms([&] {
            return copy.launch(bench.stream, lode::cover(n), out, in, static_cast<int>(n));
        });
        rows(name + ", kernel", narrow, true);
        rows(name + ", kernel of float4", bench.ms([&] {
            return copy4.launch(bench.stream, lode::cover(n / 4), out, in, static_cast<int>(n / 4));
        }));
        rows(name + ", copy on the device",
             bench.ms([&] { return out.copy_from_async(bench.stream, in); }));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Bandwidth in theory is clock x bus width / 8 x 2; a copy of n floats "
                           "moves 8 n bytes and should come near it.",
                           bandwidth);
}
