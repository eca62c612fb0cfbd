// Counts the occurrences of each of 0 … bins - 1; other values are ignored. Counts must be zero
// before the launch; the workspace isn't used.
#include "histogram.cuh"

namespace {
constexpr unsigned threads = 512;
}

// Atomics on global memory: any number of bins.
extern "C" __global__ void __launch_bounds__(threads)
    histogram_global(const unsigned* __restrict__ values, unsigned* counts, unsigned*,
                     unsigned long long n, unsigned bins) {
    for_share<2>(values, n, blockIdx.x, gridDim.x, [&](unsigned value) {
        if (value < bins) atomicAdd(counts + value, 1U);
    });
}

// Each block counts in its shared memory, then adds to the result. Dynamic shared memory: bins
// words.
extern "C" __global__ void __launch_bounds__(threads)
    histogram_shared(const unsigned* __restrict__ values, unsigned* counts, unsigned*,
                     unsigned long long n, unsigned bins) {
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
