// A sum in one launch: the last block to finish, which an atomic counter and a fence tell, adds the
// blocks' sums (Programming Guide, "Memory Fence Functions"); beside two launches.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
__device__ float block_sum(const float* x, int n, int first, int step) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = first; i < n; i += step) sum += ((volatile const float*)x)[i];
    part[threadIdx.x] = sum;
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    }
    __syncthreads();
    return part[0];
}
extern "C" __global__ void sums(const float* x, int n, float* sums) {
    const float sum = block_sum(x, n, blockIdx.x * 256 + threadIdx.x, gridDim.x * 256);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
extern "C" __global__ void total(const float* x, int n, float* sums, float* total, unsigned* count) {
    __shared__ bool last;
    float sum = block_sum(x, n, blockIdx.x * 256 + threadIdx.x, gridDim.x * 256);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();  // The sum is visible before the count.
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;  // It is 0 again afterwards.
    }
    __syncthreads();
    if (!last) return;
    sum = block_sum(sums, gridDim.x, threadIdx.x, 256);
    if (threadIdx.x == 0) *total = sum;
})";

void single_pass(experiment::Bench& bench) {
    using namespace experiment;
    const auto blocks = bench.size<std::uint32_t>(bench.device.properties().multiprocessors * 8, 6);
    auto sums = unwrap(bench.device.alloc<float>(blocks));
    auto total = unwrap(bench.device.alloc<float>(1));
    auto count = unwrap(bench.device.alloc<unsigned>(1));
    unwrap(count.zero());
    const auto two = bench.load<void(const float*, int, float*)>(text, "sums");
    const auto one = bench.load<void(const float*, int, float*, float*, unsigned*)>(text, "total");
    for (const int n : {bench.size(1 << 16, 1 << 10), bench.size(1 << 22, 1 << 12)}) {
        const auto value = [](std::size_t i) { return static_cast<float>(i % 4); };
        const auto x = bench.fill<float>(n, value);
        const auto expected = static_cast<float>(n / 4 * 6);  // Below 2^24, so every sum is exact.
        const lode::LaunchShape shape{.grid = {blocks}, .block = {256}};
        const auto verify = [&](const char* what) {
            check(unwrap(total.to_vector())[0] == expected, what);
            unwrap(total.zero());
        };
        const auto twice = bench.ms(
            [&] {
                unwrap(two.launch(bench.stream, shape, x, n, sums));
                return two.launch(bench.stream, {.grid = {1}, .block = {256}}, sums,
                                  static_cast<int>(blocks), total);
            },
            20);
        verify("two launches sum up");
        unwrap(sums.zero());  // Nothing is left that the last block could add instead.
        const auto once =
            bench.ms([&] { return one.launch(bench.stream, shape, x, n, sums, total, count); }, 20);
        verify("one launch sums up");
        const std::string name = std::to_string(n) + " elements, ";
        bench.row(name + "two launches", twice * 1e3, "us", reported());
        bench.row(name + "one launch", once * 1e3, "us", reported());
        bench.row("  gain", twice / once, "x", at_least(1));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "With a fence and a counter the last block finishes the sum: one launch "
                           "instead of two.",
                           single_pass);
}
