// Shared by all rows of the sum: the pass over the input, and the final sum by the last block.
//
// The workspace holds a ticket, zero between launches, and from its second vector on one partial sum
// per block or cluster.
#pragma once

#ifndef LODE_ELEMENT
#define LODE_ELEMENT unsigned
#endif

namespace {

using element = LODE_ELEMENT;

constexpr unsigned threads = 256;
constexpr unsigned warps = threads / 32;
constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned width = 16 / sizeof(element);  // Elements of a vector.
constexpr unsigned in_flight = 4;                 // Vectors that a thread loads at a time.

struct alignas(16) Vector {
    element e[width];
};

__device__ inline element sum_of(const Vector& vector) {
    element sum = vector.e[0];
#pragma unroll
    for (unsigned i = 1; i < width; ++i)
        sum += vector.e[i];
    return sum;
}

/// The sum of this thread's share of the input.
__device__ element sum_of_share(const element* __restrict__ from, unsigned long long n) {
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
    const unsigned long long vectors =
        reinterpret_cast<unsigned long long>(from) % 16 == 0 ? n / width : 0;
    const auto* const wide = reinterpret_cast<const Vector*>(from);
    element sum = 0;
    unsigned long long i = first;
    for (; i + (in_flight - 1) * step < vectors; i += in_flight * step) {
        Vector loaded[in_flight];
#pragma unroll
        for (unsigned j = 0; j < in_flight; ++j)
            loaded[j] = wide[i + j * step];
#pragma unroll
        for (unsigned j = 0; j < in_flight; ++j)
            sum += sum_of(loaded[j]);
    }
    for (; i < vectors; i += step)
        sum += sum_of(wide[i]);
    for (i = vectors * width + first; i < n; i += step)
        sum += from[i];
    return sum;
}

/// Each warp's sum in lane 0, by shuffles.
struct ShuffleSum {
    __device__ element operator()(element value) const {
        for (int offset = 16; offset > 0; offset /= 2)
            value += __shfl_down_sync(full_warp, value, offset);
        return value;
    }
};

/// The block's sum, in thread 0. `WarpSum` returns each warp's sum in lane 0.
template <class WarpSum>
__device__ element sum_of_block(element value, WarpSum warp_sum) {
    __shared__ element of_warps[warps];
    const element of_warp = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
    __syncthreads();
    if (threadIdx.x >= 32) return 0;
    return warp_sum(threadIdx.x < warps ? of_warps[threadIdx.x] : element{0});
}

/// Stores partial sum `index` of `count`, from thread 0; the last block adds up all of them.
template <class WarpSum>
__device__ void finish(element partial, unsigned index, unsigned count, element* to,
                       element* workspace, WarpSum warp_sum) {
    __shared__ bool is_last;
    auto* const ticket = reinterpret_cast<unsigned*>(workspace);
    volatile element* const partials = workspace + width;
    if (count == 1) {
        if (threadIdx.x == 0) *to = partial;
        return;
    }
    if (threadIdx.x == 0) {
        partials[index] = partial;
        __threadfence();
        is_last = atomicAdd(ticket, 1U) == count - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    element sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += threads)
        sum += partials[i];
    sum = sum_of_block(sum, warp_sum);
    if (threadIdx.x == 0) {
        *to = sum;
        *ticket = 0;
    }
}

}  // namespace
