// Work of uneven size: a block an item, blocks that stay and take every n-th item, and blocks that
// stay and fetch the next item from a counter ("persistent threads").
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
__device__ void work(const int* sizes, unsigned* out, int item) {
    unsigned x = item * 128 + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < sizes[item]; ++k) x = x * 1664525u + 1013904223u;
    out[item * 128 + threadIdx.x] = x;
}
extern "C" __global__ void process(const int* sizes, unsigned* out, int items, int* next) {
#if HOW == 0
    work(sizes, out, blockIdx.x);
#elif HOW == 1
    for (int item = blockIdx.x; item < items; item += gridDim.x) work(sizes, out, item);
#else
    __shared__ int mine;
    while (true) {
        if (threadIdx.x == 0) mine = atomicAdd(next, 1);
        __syncthreads();
        const int item = mine;
        __syncthreads();
        if (item >= items) return;
        work(sizes, out, item);
    }
#endif
})";

void persistent(experiment::Bench& bench) {
    using namespace experiment;
    const int items = bench.size(1 << 16, 64);
    const int unit = bench.size(10, 1);
    // Most items are small, and every 64th is large: the static share of some blocks has many.
    const auto size = [&](std::size_t i) {
        return unit * (i % 64 == 0 ? 200 : static_cast<int>(i % 5));
    };
    const auto sizes = bench.fill<int>(items, size);
    auto out = unwrap(bench.device.alloc<unsigned>(static_cast<std::size_t>(items) * 128));
    auto next = unwrap(bench.device.alloc<int>(1));
    Figure simple;
    constexpr const char* names[] = {"a block an item", "blocks that take every n-th item",
                                     "blocks that fetch items"};
    for (const int how : {0, 1, 2}) {
        const auto process = bench.load<void(const int*, unsigned*, int, int*)>(
            text, "process", {define("HOW", how)});
        auto blocks = static_cast<std::uint32_t>(items);
        if (how > 0)
            blocks = static_cast<std::uint32_t>(
                bench.device.properties().multiprocessors *
                unwrap(process.occupancy(128)).blocks_per_multiprocessor);
        if (how > 0) blocks = std::min(blocks, static_cast<std::uint32_t>(bench.size(1 << 15, 8)));
        unwrap(out.zero());
        const auto time = bench.ms([&] {
            unwrap(next.zero_async(bench.stream));
            return process.launch(bench.stream, {.grid = {blocks}, .block = {128}}, sizes, out,
                                  items, next);
        });
        bench.expect(out, "every item is processed", [&](std::size_t i) {
            auto x = static_cast<unsigned>(i);
            for (int k = 0; k < size(i / 128); ++k)
                x = x * 1664525U + 1013904223U;
            return x;
        });
        bench.row(names[how], time, "ms", reported());
        if (how == 0)
            simple = time;
        else
            bench.row("  gain over a block an item", simple / time, "x",
                      reported(how == 1 ? "loses where work is uneven" : ""));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Persistent threads that fetch their work balance uneven items. The "
                           "hardware's scheduler of blocks does so too.",
                           persistent);
}
