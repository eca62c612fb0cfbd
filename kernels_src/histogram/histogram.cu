// Counts the occurrences of each of 0 … bins - 1; other values are ignored. Counts must be zero
// before the launch.
#include "histogram.cuh"

namespace {
constexpr unsigned threads = 512;
constexpr unsigned packed_threads = 1024;
constexpr unsigned part_bins = 65536;  // 16 bits each: 128 KiB.
}  // namespace

// Atomics on global memory: any number of bins.
extern "C" __global__ void __launch_bounds__(threads)
    histogram_global(const unsigned* __restrict__ values, unsigned* counts, unsigned long long n,
                     unsigned bins) {
    for_share<2>(values, n, blockIdx.x, gridDim.x, [&](unsigned value) {
        if (value < bins) atomicAdd(counts + value, 1U);
    });
}

// Each block counts in its shared memory, then adds to the result. Dynamic shared memory: bins
// words.
extern "C" __global__ void __launch_bounds__(threads)
    histogram_shared(const unsigned* __restrict__ values, unsigned* counts, unsigned long long n,
                     unsigned bins) {
    extern __shared__ unsigned of_block[];
    for (unsigned bin = threadIdx.x; bin < bins; bin += threads)
        of_block[bin] = 0;
    __syncthreads();
    for_share<2>(values, n, blockIdx.x, gridDim.x, [&](unsigned value) {
        if (value < bins) atomicAdd(of_block + value, 1U);
    });
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < bins; bin += threads) {
        if (of_block[bin] != 0) atomicAdd(counts + bin, of_block[bin]);
    }
}

// The same with two 16-bit counters per word, for more bins: adjacent blocks read the same values,
// and each counts those in its part of the bins. A counter that reaches half its range moves that
// half to the result immediately: at most 1023 other threads count in the meantime, so it never
// overflows into its neighbour. Blocks: a multiple of the parts. Dynamic shared memory: ceil(bins /
// 2) words for one part, part_bins / 2 for more.
extern "C" __global__ void __launch_bounds__(packed_threads)
    histogram_packed(const unsigned* __restrict__ values, unsigned* counts, unsigned long long n,
                     unsigned bins) {
    constexpr unsigned half_range = 0x8000;
    extern __shared__ unsigned of_block[];
    const unsigned parts = (bins + part_bins - 1) / part_bins;
    const unsigned first_bin = blockIdx.x % parts * part_bins;
    const unsigned own_bins = min(part_bins, bins - first_bin);
    const unsigned words = (own_bins + 1) / 2;
    for (unsigned i = threadIdx.x; i < words; i += packed_threads)
        of_block[i] = 0;
    __syncthreads();
    for_share<4>(values, n, blockIdx.x / parts, gridDim.x / parts, [&](unsigned value) {
        const unsigned bin = value - first_bin;
        if (bin >= own_bins) return;
        const unsigned shift = bin % 2 * 16;
        const unsigned before = atomicAdd(of_block + bin / 2, 1U << shift);
        if ((before >> shift & 0xffffU) == half_range - 1) {
            atomicSub(of_block + bin / 2, half_range << shift);
            atomicAdd(counts + value, half_range);
        }
    });
    __syncthreads();
    for (unsigned i = threadIdx.x; i < words; i += packed_threads) {
        const unsigned low = of_block[i] & 0xffffU;
        const unsigned high = of_block[i] >> 16;
        if (low != 0) atomicAdd(counts + first_bin + 2 * i, low);
        if (high != 0) atomicAdd(counts + first_bin + 2 * i + 1, high);
    }
}
