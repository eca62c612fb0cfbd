// Shared by all rows of the sum: the pass over the input, and the final sum by the last block.
//
// The workspace holds a ticket, zero between launches, and one partial sum per block or cluster.
#pragma once

namespace {

constexpr unsigned threads = 256;
constexpr unsigned warps = threads / 32;
constexpr unsigned full_warp = 0xffffffffU;

/// The sum of this thread's share of the input, with four 16-byte loads in flight.
__device__ unsigned sum_of_share(const unsigned* __restrict__ from, unsigned long long n) {
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
    const unsigned long long vectors =
        reinterpret_cast<unsigned long long>(from) % 16 == 0 ? n / 4 : 0;
    const auto* const wide = reinterpret_cast<const uint4*>(from);
    unsigned sum = 0;
    unsigned long long i = first;
    for (; i + 3 * step < vectors; i += 4 * step) {
        const uint4 a = wide[i];
        const uint4 b = wide[i + step];
        const uint4 c = wide[i + 2 * step];
        const uint4 d = wide[i + 3 * step];
        sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
        sum += c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
    }
    for (; i < vectors; i += step) {
        const uint4 a = wide[i];
        sum += a.x + a.y + a.z + a.w;
    }
    for (i = vectors * 4 + first; i < n; i += step)
        sum += from[i];
    return sum;
}

/// The block's sum, in thread 0. `WarpSum` returns each warp's sum in lane 0.
template <class WarpSum>
__device__ unsigned sum_of_block(unsigned value, WarpSum warp_sum) {
    __shared__ unsigned of_warps[warps];
    const unsigned of_warp = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
    __syncthreads();
    if (threadIdx.x >= 32) return 0;
    return warp_sum(threadIdx.x < warps ? of_warps[threadIdx.x] : 0U);
}

/// Stores partial sum `index` of `count`, from thread 0; the last block adds up all of them.
template <class WarpSum>
__device__ void finish(unsigned partial, unsigned index, unsigned count, unsigned* to,
                       unsigned* workspace, WarpSum warp_sum) {
    __shared__ bool is_last;
    volatile unsigned* const partials = workspace + 1;
    if (threadIdx.x == 0) {
        partials[index] = partial;
        __threadfence();
        is_last = atomicAdd(workspace, 1U) == count - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    unsigned sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += threads)
        sum += partials[i];
    sum = sum_of_block(sum, warp_sum);
    if (threadIdx.x == 0) {
        *to = sum;
        *workspace = 0;
    }
}

}  // namespace
