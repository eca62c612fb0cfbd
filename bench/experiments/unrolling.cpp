// A loop whose unroll factor is a definition: fewer branches and more independent loads
// (Programming Guide, "#pragma unroll"; Best Practices Guide, "Loops").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void filter(const float* in, float* out, int taps) {
    __shared__ float part[512];
    const int first = blockIdx.x * 256;
    part[threadIdx.x] = in[first + threadIdx.x];
    part[threadIdx.x + 256] = in[first + threadIdx.x + 256];
    __syncthreads();
    float sum = 0;
#if CONSTANT
    taps = TAPS;
#endif
#pragma unroll UNROLL
    for (int k = 0; k < taps; ++k) sum += part[threadIdx.x + k];
    out[first + threadIdx.x] = sum;
})";

void unrolling(experiment::Bench& bench) {
    using namespace experiment;
    constexpr int taps = 128;
    const std::size_t n = bench.size(std::size_t{1} << 24, std::size_t{1} << 10);
    const auto value = [](std::size_t i) { return static_cast<float>(i * 31 % 257); };
    const auto in = bench.fill<float>(n + 256, value);
    auto out = unwrap(bench.device.alloc<float>(n));
    Figure rolled;
    const auto measure = [&](const std::string& name, int unroll, int constant, double least) {
        const auto filter = bench.load<void(const float*, float*, int)>(
            text, "filter",
            {define("UNROLL", unroll), define("CONSTANT", constant), define("TAPS", taps)});
        unwrap(out.zero());
        const auto time =
            bench.ms([&] { return filter.launch(bench.stream, lode::cover(n), in, out, taps); });
        bench.expect(out, "every sum is right", [&](std::size_t i) {
            float sum = 0;  // Exact: the summands are small integers.
            for (int k = 0; k < taps; ++k)
                sum += value(i + k);
            return sum;
        });
        if (unroll == 1) rolled = time;
        if (unroll == 1)
            bench.row(name, time, "ms", reported());
        else
            bench.row(name + ", gain", rolled / time, "x", at_least(least));
    };
    for (const int unroll : {1, 2, 4, 8, 16})
        measure("unrolled by " + std::to_string(unroll), unroll, 0, unroll >= 4 ? 1.2 : 1);
    measure("number of taps a definition, all unrolled", taps, 1, 1.2);
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "#pragma unroll with a factor from a definition removes branches; a "
                           "trip count that is a definition removes the loop.",
                           unrolling);
}
