// The sum of an array in the steps of NVIDIA's study of parallel reduction, each of which removes
// what slows the one before.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
__device__ int warp_sum(int sum) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    return sum;
}
extern "C" __global__ void reduce(const int* in, int* sums, int n) {
    __shared__ int part[THREADS];
    const int t = threadIdx.x;
#if STEP <= 3
    int i = blockIdx.x * THREADS + t;
    int sum = in[i];
#elif STEP <= 6
    int i = blockIdx.x * THREADS * 2 + t;
    int sum = in[i] + in[i + THREADS];
#else
    int sum = 0;
    for (int i = blockIdx.x * THREADS * 2 + t; i < n; i += gridDim.x * THREADS * 2)
        sum += in[i] + in[i + THREADS];
#endif
    part[t] = sum;
    __syncthreads();
#if STEP == 1
    for (int d = 1; d < THREADS; d *= 2) {
        if (t % (2 * d) == 0) part[t] += part[t + d];
        __syncthreads();
    }
#elif STEP == 2
    for (int d = 1; d < THREADS; d *= 2) {
        if (2 * d * t < THREADS) part[2 * d * t] += part[2 * d * t + d];
        __syncthreads();
    }
#elif STEP <= 4
    for (int d = THREADS / 2; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
#else
#if STEP >= 6
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int d = THREADS / 2; d >= 32; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t < 32) {
        sum = warp_sum(part[t]);
        if (t == 0) part[0] = sum;
    }
#endif
    if (t == 0) sums[blockIdx.x] = part[0];
})";

struct Step {
    const char* name;
    double published;  ///< Speed beside the first step.
};

void reductions(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::uint32_t threads = 256;
    const std::size_t n = bench.size(std::size_t{1} << 26, std::size_t{1} << 13);
    const auto value = [](std::size_t i) { return static_cast<int>(i * 7919 % 101) - 50; };
    const auto in = bench.fill<int>(n, value);
    long long expected = 0;
    for (std::size_t i = 0; i < n; ++i)
        expected += value(i);
    auto sums = unwrap(bench.device.alloc<int>(n / threads));
    constexpr Step steps[] = {
        {"1 interleaved, divergent", 1},      {"2 interleaved, bank conflicts", 2.33},
        {"3 sequential addresses", 4.68},     {"4 first addition while loading", 8.34},
        {"5 last warp by shuffles", 15.0},    {"6 unrolled", 21.2},
        {"7 several elements a thread", 30.0}};
    Figure first;
    for (int step = 1; step <= 7; ++step) {
        const auto kernel = bench.load<void(const int*, int*, int)>(
            text, "reduce", {define("STEP", step), define("THREADS", threads)});
        auto blocks = static_cast<std::uint32_t>(n / threads / (step >= 4 ? 2 : 1));
        if (step == 7)
            blocks = bench.size<std::uint32_t>(bench.device.properties().multiprocessors * 16, 4);
        unwrap(sums.zero());
        const auto time = bench.ms([&] {
            return kernel.launch(bench.stream, {.grid = {blocks}, .block = {threads}}, in, sums,
                                 static_cast<int>(n));
        });
        long long sum = 0;
        for (const int part : unwrap(sums.to_vector()))
            sum += part;
        check(sum == expected, "the sum is right");
        const auto bandwidth = Bench::gb_per_s(sizeof(int) * static_cast<double>(n), time);
        const Step& about_it = steps[step - 1];
        bench.row(about_it.name, bandwidth, "GB/s", reported());
        if (step == 1)
            first = bandwidth;
        else
            bench.row("  beside step 1", bandwidth / first, "x",
                      at_least(1, "G80: " + std::to_string(about_it.published).substr(0, 4)));
        if (step == 7)
            bench.row("  of the theoretical bandwidth",
                      bandwidth / Figure{bench.theoretical_gb_per_s() / 100}, "%",
                      at_least(70, "G80: 73"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Each step is faster, 30 times in all on a G80 (2.08 to 62.7 GB/s of "
                           "86.4); the last is limited by the memory alone.",
                           reductions);
}
