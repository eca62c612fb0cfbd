// Shared by the rows of the scan: the tile, and the words through which tiles exchange their sums.
//
// The state holds one word of counters (a ticket and the number of finished blocks), zero between
// launches, and one word per tile: value, epoch and flag in 64 bits, so that one relaxed load reads
// all three. The epoch distinguishes this launch's words from those of earlier launches: every
// launch on one state needs a different epoch, from 1 to 2^30 - 1.
#pragma once

namespace {

constexpr unsigned threads = 512;
constexpr unsigned warps = threads / 32;
constexpr unsigned rows = 8;  // Of 128 elements, per warp.
constexpr unsigned row_size = 128;
constexpr unsigned tile = warps * rows * row_size;  // 16384 elements.
constexpr unsigned full_warp = 0xffffffffU;

constexpr unsigned not_yet = 0;
constexpr unsigned aggregate = 1;  // The tile's own sum.
constexpr unsigned prefix = 2;     // The sum up to the tile's end.

using word = unsigned long long;

__device__ inline void publish(word* at, unsigned value, unsigned epoch, unsigned flag) {
    const word packed = (static_cast<word>(value) << 32) | (epoch << 2) | flag;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(packed) : "memory");
}

__device__ inline word peek(const word* at) {
    word packed = 0;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(packed) : "l"(at) : "memory");
    return packed;
}

__device__ inline unsigned flag_of(word packed, unsigned epoch) {
    const unsigned low = static_cast<unsigned>(packed);
    return low >> 2 == epoch ? low & 3U : not_yet;
}

__device__ inline unsigned value_of(word packed) {
    return static_cast<unsigned>(packed >> 32);
}

/// The sum of this lane's value and of those of the lanes below it.
__device__ inline unsigned inclusive_over_warp(unsigned value) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        const unsigned below = __shfl_up_sync(full_warp, value, offset);
        if (lane >= offset) value += below;
    }
    return value;
}

/// Whether tile `t` lies entirely inside and both arrays allow 16-byte accesses.
__device__ inline bool is_whole(const unsigned* from, const unsigned* to, unsigned t,
                                unsigned long long n) {
    return (static_cast<unsigned long long>(t) + 1) * tile <= n &&
           (reinterpret_cast<unsigned long long>(from) | reinterpret_cast<unsigned long long>(to)) %
                   16 ==
               0;
}

}  // namespace
