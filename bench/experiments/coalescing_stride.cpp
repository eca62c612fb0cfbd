// A copy of every STRIDE-th element: sectors of 32 bytes move whole, so that the bandwidth falls to
// an eighth, and to a sixteenth where the memory moves 64 bytes at once (Best Practices Guide,
// "Strided Accesses").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void number(float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = i % 4093;
}
extern "C" __global__ void stride_copy(float* out, const float* in) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * STRIDE;
    out[i] = in[i];
})";

void strides(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::size_t most = 32;
    const std::size_t n = bench.size(std::size_t{1} << 24, std::size_t{1} << 10);
    const auto in = unwrap(bench.device.alloc<float>(n * most));
    auto out = unwrap(bench.device.alloc<float>(n * most));
    const auto number = bench.load<void(float*, int)>(text, "number", {define("STRIDE", 1)});
    unwrap(number.launch(bench.stream, lode::cover(n), in, static_cast<int>(n * most)));
    Figure dense;
    for (const std::size_t stride : {1, 2, 3, 4, 6, 8, 16, 32}) {
        const auto copy = bench.load<void(float*, const float*)>(
            text, "stride_copy", {define("STRIDE", static_cast<long long>(stride))});
        unwrap(bench.stream.sync());
        unwrap(out.zero());
        const auto time =
            bench.ms([&] { return copy.launch(bench.stream, lode::cover(n), out, in); });
        bench.expect(unwrap(out.span().first(n * stride)), "every stride-th element is copied",
                     [&](std::size_t i) { return i % stride == 0 ? i % 4093 : 0; });
        const auto bandwidth = Bench::gb_per_s(2.0 * sizeof(float) * static_cast<double>(n), time);
        if (stride == 1) {
            dense = bandwidth;
            bench.row("stride 1", bandwidth, "GB/s", reported());
            continue;
        }
        // Beyond 8, memories whose bursts have 64 bytes move two sectors for each element.
        constexpr double tolerance = 0.3;
        const auto bytes = static_cast<double>(stride * sizeof(float));
        const double least = (1 - tolerance) * sizeof(float) / std::min(bytes, 64.0);
        const double most_expected = (1 + tolerance) * sizeof(float) / std::min(bytes, 32.0);
        bench.row("stride " + std::to_string(stride) + " beside stride 1", bandwidth / dense, "x",
                  {least, most_expected, "sectors of 32 bytes, bursts of up to 64"});
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Stride 2 has half the bandwidth; it falls until every thread needs a "
                           "transaction of its own, with sectors of 32 bytes at stride 8.",
                           strides);
}
