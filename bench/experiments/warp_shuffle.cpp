// Sums of 32 numbers within a warp: through shared memory, by shuffles, and by the instruction of
// 8.0 and newer; and a sum that each block of eight lanes scans (Programming Guide, "Warp Shuffle
// Functions", "Warp Reduce Functions").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
__device__ int warp_sum(int x) {
    const int lane = threadIdx.x % 32;
#if HOW == 0
    __shared__ volatile int words[1024];
    volatile int* const own = words + threadIdx.x / 32 * 32;
    own[lane] = x;
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        const int other = own[lane ^ d];
        __syncwarp();
        own[lane] = x += other;
        __syncwarp();
    }
    return x;
#elif HOW == 1 || __CUDA_ARCH__ < 800
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);
    return x;
#else
    return __reduce_add_sync(0xffffffff, x);
#endif
}
extern "C" __global__ void sums(int* out) {
    int x = threadIdx.x % 32;  // Their sum is 496.
    for (int k = 0; k < ROUNDS; ++k) x = warp_sum(x) - 496 + threadIdx.x % 32;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
extern "C" __global__ void scan_by_8(int* out) {
    const int lane = threadIdx.x % 32;
    int x = lane + 1;
    for (int d = 1; d < 8; d *= 2) {
        const int other = __shfl_up_sync(0xffffffff, x, d, 8);
        if (lane % 8 >= d) x += other;  // The lane's number within its eight.
    }
    out[threadIdx.x] = x;
})";

void shuffles(experiment::Bench& bench) {
    using namespace experiment;
    const auto blocks = bench.size<std::uint32_t>(bench.device.properties().multiprocessors * 4, 1);
    const int rounds = bench.size(1000, 4);
    auto out = unwrap(bench.device.alloc<int>(std::size_t{blocks} * 512));
    Figure shared;
    constexpr const char* names[] = {"shared memory", "shuffles", "one instruction"};
    for (const int how : {0, 1, 2}) {
        const auto sums =
            bench.load<void(int*)>(text, "sums", {define("HOW", how), define("ROUNDS", rounds)});
        unwrap(out.fill(-1));
        const auto time = bench.ms(
            [&] { return sums.launch(bench.stream, {.grid = {blocks}, .block = {512}}, out); });
        bench.expect(out, "every sum is 496",
                     [&](std::size_t i) { return static_cast<int>(i % 32); });
        bench.row(names[how], time, "ms", reported());
        if (how == 0)
            shared = time;
        else
            bench.row("  gain", shared / time, "x", at_least(how == 1 ? 1.2 : 1.5));
    }
    const auto scan =
        bench.load<void(int*)>(text, "scan_by_8", {define("HOW", 1), define("ROUNDS", 1)});
    unwrap(scan.launch(bench.stream, {.grid = {1}, .block = {32}}, out));
    unwrap(bench.stream.sync());
    bench.expect(unwrap(out.span().first(32)), "every eight lanes are scanned", [](std::size_t i) {
        const auto first = static_cast<int>(i / 8 * 8 + 1);
        const auto last = static_cast<int>(i + 1);
        return (first + last) * (last - first + 1) / 2;
    });
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Lanes exchange values by shuffles without shared memory; since 8.0 one "
                           "instruction adds the integers of a warp.",
                           shuffles);
}
