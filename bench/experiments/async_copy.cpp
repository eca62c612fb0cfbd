// Copies from global to shared memory: through registers, and asynchronously with 4, 8 and 16 bytes
// a thread (Best Practices Guide, "Asynchronous Copy from Global Memory to Shared Memory").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
#include <cuda_pipeline.h>
extern "C" __global__ void stage(const ELEMENT* in, int* out, int copies) {
    extern __shared__ ELEMENT part[];
    for (int k = 0; k < copies; ++k) {
        const int at = k * blockDim.x + threadIdx.x;
        const ELEMENT* from = in + (blockIdx.x * copies * blockDim.x + at);
#if ASYNCHRONOUS
        __pipeline_memcpy_async(&part[at], from, sizeof(ELEMENT));
#else
        part[at] = *from;
#endif
    }
#if ASYNCHRONOUS
    __pipeline_commit();
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    // The block's sum, so that the copies are used; each thread reads what others have copied.
    const int* words = (const int*)part;
    const int n = copies * blockDim.x * (sizeof(ELEMENT) / 4);
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += words[(i + 32) % n];
    atomicAdd(&out[blockIdx.x], sum);
})";

void copies(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::uint32_t threads = 128;
    const std::size_t words = bench.size(std::size_t{1} << 26, std::size_t{1} << 13);
    const auto value = [](std::size_t i) { return static_cast<int>(i * 7919 % 101); };
    const auto in = bench.fill<int>(words, value);
    Figure through_registers;
    for (const int width : {1, 2, 4}) {
        for (const int asynchronous : {0, 1}) {
            const std::string element = width == 1 ? "int" : "int" + std::to_string(width);
            const auto stage = bench.load<void(const void*, int*, int)>(
                text, "stage", {{"ELEMENT", element}, define("ASYNCHRONOUS", asynchronous)});
            const int copies = 16 / width;  // 8 KiB a block, whatever the width.
            constexpr std::uint32_t block_words = 16 * threads;
            const auto blocks = static_cast<std::uint32_t>(words / block_words);
            auto out = unwrap(bench.device.alloc<int>(blocks));
            const lode::LaunchShape shape{.grid = {blocks},
                                          .block = {threads},
                                          .dynamic_shared_bytes = block_words * sizeof(int)};
            const auto launch = [&] {
                return stage.launch(bench.stream, shape, in.data(), out, copies);
            };
            const auto time = bench.ms(launch);
            unwrap(out.zero());
            unwrap(launch());
            unwrap(bench.stream.sync());
            bench.expect(out, "every block's sum is right", [&](std::size_t block) {
                int sum = 0;
                for (std::size_t i = 0; i < block_words; ++i)
                    sum += value(block * block_words + i);
                return sum;
            });
            const auto bandwidth = Bench::gb_per_s(sizeof(int) * static_cast<double>(words), time);
            const std::string name = std::to_string(4 * width) + " bytes a thread, ";
            bench.row(name + (asynchronous ? "asynchronous" : "through registers"), bandwidth,
                      "GB/s", reported());
            if (!asynchronous)
                through_registers = bandwidth;
            else
                bench.row("  gain", bandwidth / through_registers, "x",
                          at_least(1, "more so with more bytes; 16 bypass L1"));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Asynchronous copies need no registers and are at least as fast; those "
                           "of 16 bytes bypass the L1 cache and are best.",
                           copies);
}
