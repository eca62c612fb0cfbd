// Shared by all rows of the sum: the pass over the input, and the final sum by the last block.
//
// Definitions; without any, the sum of 32-bit integers:
//
//     LODE_ELEMENT     a number of 32 or 64 bits
//     LODE_COMBINE     an expression of two elements a and b, associative and commutative
//     LODE_IDENTITY    the element that changes no other when they are combined
//
// The workspace holds a ticket, zero between launches, and from its second vector on one partial sum
// per block or cluster.
#pragma once

#ifndef LODE_ELEMENT
#define LODE_ELEMENT unsigned
#endif
namespace {

using element = LODE_ELEMENT;

constexpr unsigned threads = 512;
constexpr unsigned warps = threads / 32;
constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned width = 16 / sizeof(element);  // Elements of a vector.
constexpr unsigned in_flight = 4;                 // Vectors that a thread loads at a time.

struct alignas(16) Vector {
    element e[width];
};

#ifdef LODE_COMBINE
__device__ __forceinline__ element combine(const element a, const element b) {
    return LODE_COMBINE;
}
__device__ __forceinline__ void fold(element& sum, const element value) {
    sum = combine(sum, value);
}
__device__ __forceinline__ element identity() {
    return LODE_IDENTITY;
}
#else  // Macros: functions, even inlined, change the machine code of some rows.
#define combine(a, b) ((a) + (b))
#define fold(sum, value) (sum) += (value)
#define identity() element{0}
#endif

__device__ inline element sum_of(const Vector& vector) {
    element sum = vector.e[0];
#pragma unroll
    for (unsigned i = 1; i < width; ++i)
        fold(sum, vector.e[i]);
    return sum;
}

/// Reads what isn't read again. Without L2::256B, which costs a sum 8 % on an H200.
__device__ inline Vector load_once(const element* from) {
    uint4 bits;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "l"(from));
#else
    bits = __ldcs(reinterpret_cast<const uint4*>(from));
#endif
    Vector vector;
    memcpy(&vector, &bits, sizeof(vector));
    return vector;
}

/// The sum of this thread's share of the input: blocks take tiles of adjacent vectors in turn.
__device__ element sum_of_share(const element* __restrict__ from, unsigned long long n) {
    constexpr unsigned row = threads * width;  // Elements that a block reads at once.
    constexpr unsigned tile = row * in_flight;
    const bool is_aligned = reinterpret_cast<unsigned long long>(from) % 16 == 0;
    const unsigned long long tiles = is_aligned ? n / tile : 0;
    element sum = identity();
    for (unsigned long long t = blockIdx.x; t < tiles; t += gridDim.x) {
        const element* const first = from + t * tile + threadIdx.x * width;
        Vector loaded[in_flight];
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i)
            loaded[i] = load_once(first + i * row);
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i)
            fold(sum, sum_of(loaded[i]));
    }
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    for (unsigned long long i = tiles * tile + blockIdx.x * static_cast<unsigned long long>(threads) +
                                threadIdx.x;
         i < n; i += step)
        fold(sum, from[i]);
    return sum;
}

/// Each warp's sum in lane 0, by shuffles.
struct ShuffleSum {
    __device__ element operator()(element value) const {
        for (int offset = 16; offset > 0; offset /= 2)
            fold(value, __shfl_down_sync(full_warp, value, offset));
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
    if (threadIdx.x >= 32) return identity();
    return warp_sum(threadIdx.x < warps ? of_warps[threadIdx.x] : identity());
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
    element sum = identity();
    for (unsigned i = threadIdx.x; i < count; i += threads)
        fold(sum, partials[i]);
    sum = sum_of_block(sum, warp_sum);
    if (threadIdx.x == 0) {
        *to = sum;
        *ticket = 0;
    }
}

}  // namespace
