// Inclusive prefix sums of unsigned integers modulo 2^32 in one pass, by decoupled look-back
// (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).
//
// A tile waits until the sums of the tiles before it are known, and a waiting block has no loads in
// flight: larger tiles reduce the share of time lost.
#include "scan.cuh"

namespace {

__device__ unsigned warp_sum(unsigned value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(full_warp, value, offset);
    return value;
}

/// The sum of all tiles before `t`: a whole warp looks at 32 tiles at a time.
struct WarpLookBack {
    __device__ unsigned operator()(const word* tiles, unsigned t, unsigned epoch) const {
        const unsigned lane = threadIdx.x % 32;
        unsigned sum = 0;
        for (long long newest = static_cast<long long>(t) - 1;; newest -= 32) {
            const long long mine = newest - lane;
            word packed = 0;
            unsigned flag = prefix;  // Before the first tile: a prefix of zero.
            do {
                if (mine >= 0) {
                    packed = peek(tiles + mine);
                    flag = flag_of(packed, epoch);
                }
            } while (__any_sync(full_warp, flag == not_yet));
            const unsigned with_prefix = __ballot_sync(full_warp, flag == prefix);
            const unsigned last = with_prefix != 0 ? __ffs(static_cast<int>(with_prefix)) - 1 : 31;
            sum += warp_sum(lane <= last ? static_cast<unsigned>(packed >> 32) : 0U);
            if (with_prefix != 0) return sum;
        }
    }
};

/// The same by one lane, one tile at a time.
struct SerialLookBack {
    __device__ unsigned operator()(const word* tiles, unsigned t, unsigned epoch) const {
        unsigned sum = 0;
        if (threadIdx.x % 32 == 0) {
            for (unsigned before = t; before > 0;) {
                const word packed = peek(tiles + before - 1);
                const unsigned flag = flag_of(packed, epoch);
                if (flag == not_yet) continue;
                sum += static_cast<unsigned>(packed >> 32);
                if (flag == prefix) break;
                --before;
            }
        }
        return __shfl_sync(full_warp, sum, 0);
    }
};

template <class LookBack>
__device__ void scan(const unsigned* __restrict__ from, unsigned* __restrict__ to, word* state,
                     unsigned epoch, unsigned long long n, LookBack look_back) {
    __shared__ unsigned ticket;
    __shared__ unsigned of_warps[warps];
    __shared__ unsigned before_tile;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;

    // Blocks take tiles in the order in which they start: a tile waits only for running blocks.
    if (threadIdx.x == 0) {
        auto* const counter = reinterpret_cast<unsigned*>(state);
        ticket = atomicAdd(counter, 1U);
        if (ticket == gridDim.x - 1) *counter = 0;
    }
    __syncthreads();
    const unsigned t = ticket;

    // A warp's share is 8 rows of 128; a lane has 4 adjacent elements of each row.
    const unsigned long long base =
        static_cast<unsigned long long>(t) * tile + warp * rows * row_size + lane * 4;
    const bool whole = is_whole(from, to, t, n);
    unsigned v[rows][4];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned long long at = base + r * row_size;
        if (whole) {
            const uint4 four = __ldcs(reinterpret_cast<const uint4*>(from + at));
            v[r][0] = four.x;
            v[r][1] = four.y;
            v[r][2] = four.z;
            v[r][3] = four.w;
        } else {
#pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                v[r][e] = at + e < n ? from[at + e] : 0U;
        }
    }
    unsigned carry = 0;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        v[r][1] += v[r][0];
        v[r][2] += v[r][1];
        v[r][3] += v[r][2];
        const unsigned inclusive = inclusive_over_warp(v[r][3]);
        const unsigned before = carry + inclusive - v[r][3];
#pragma unroll
        for (unsigned e = 0; e < 4; ++e)
            v[r][e] += before;
        carry += __shfl_sync(full_warp, inclusive, 31);
    }
    if (lane == 0) of_warps[warp] = carry;
    __syncthreads();

    unsigned before_warp = 0;
    unsigned of_tile = 0;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
        if (w == warp) before_warp = of_tile;
        of_tile += of_warps[w];
    }
    if (warp == 0) {
        word* const tiles = state + 1;
        unsigned before = 0;
        if (t > 0) {
            if (lane == 0) publish(tiles + t, of_tile, epoch, aggregate);
            before = look_back(tiles, t, epoch);
        }
        if (lane == 0) {
            publish(tiles + t, before + of_tile, epoch, prefix);
            before_tile = before;
        }
    }
    __syncthreads();

    const unsigned before = before_tile + before_warp;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned long long at = base + r * row_size;
        if (whole) {
            __stcs(reinterpret_cast<uint4*>(to + at), make_uint4(v[r][0] + before, v[r][1] + before,
                                                                 v[r][2] + before, v[r][3] + before));
        } else {
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) {
                if (at + e < n) to[at + e] = v[r][e] + before;
            }
        }
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    scan_warp(const unsigned* __restrict__ from, unsigned* __restrict__ to, unsigned long long* state,
              unsigned epoch, unsigned long long n) {
    scan(from, to, state, epoch, n, WarpLookBack{});
}

extern "C" __global__ void __launch_bounds__(threads)
    scan_serial(const unsigned* __restrict__ from, unsigned* __restrict__ to,
                unsigned long long* state, unsigned epoch, unsigned long long n) {
    scan(from, to, state, epoch, n, SerialLookBack{});
}
