// Inclusive prefix sums in one pass: of integers modulo 2^32 or 2^64, of floats, or by an operator
// of the user's, in an unspecified order. A tile for each block, which waits for the sums of the
// tiles before it.
#include "scan.cuh"

namespace {

// The sum of everything before tile `t`, in all threads that call it: the ways to wait.

/// All tiles at once, by the whole block: no tile waits for a sum of sums, so there is no chain.
/// For as many tiles as run at a time.
template <unsigned warps>
struct WholeLookBack {
    static constexpr bool publishes_prefix = false;

    __device__ element operator()(const word* state, unsigned t, unsigned epoch) const {
        constexpr unsigned threads = warps * 32;
        constexpr unsigned at_once = 4;
        __shared__ element of_warps[warps];
        element sum = identity();
        for (unsigned first = threadIdx.x; first < t; first += at_once * threads) {
            Published found[at_once];
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i) {
                const unsigned tile = first + i * threads;
                found[i] = tile < t ? peek(state, tile, epoch) : Published{aggregate, identity()};
            }
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i) {
                if (found[i].flag == not_yet) found[i] = await(state, first + i * threads, epoch);
                fold(sum, found[i].value);
            }
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
        __syncthreads();
        element before = identity();
#pragma unroll
        for (unsigned w = 0; w < warps; ++w)
            fold(before, of_warps[w]);
        return before;
    }
};

/// Decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
/// Look-back", 2016): a warp looks at 32 tiles at a time, back to one that knows its prefix. A
/// waiting block has no loads in flight: larger tiles reduce the share of time lost.
struct WarpLookBack {
    static constexpr bool publishes_prefix = true;

    __device__ element operator()(const word* state, unsigned t, unsigned epoch) const {
        const unsigned lane = threadIdx.x % 32;
        element sum = identity();
        for (long long newest = static_cast<long long>(t) - 1;; newest -= 32) {
            const long long mine = newest - lane;
            Published found{prefix, identity()};  // Before the first tile.
            do {
                if (mine >= 0) found = peek(state, static_cast<unsigned>(mine), epoch);
            } while (__any_sync(full_warp, found.flag == not_yet));
            const unsigned with_prefix = __ballot_sync(full_warp, found.flag == prefix);
            const unsigned last = with_prefix != 0 ? __ffs(static_cast<int>(with_prefix)) - 1 : 31;
            fold(sum, warp_sum(lane <= last ? found.value : identity()));
            if (with_prefix != 0) return sum;
        }
    }
};

/// The same by one lane, one tile at a time.
struct SerialLookBack {
    static constexpr bool publishes_prefix = true;

    __device__ element operator()(const word* state, unsigned t, unsigned epoch) const {
        element sum = identity();
        if (threadIdx.x % 32 == 0) {
            for (unsigned before = t; before > 0; --before) {
                const Published found = await(state, before - 1, epoch);
                fold(sum, found.value);
                if (found.flag == prefix) break;
            }
        }
        return __shfl_sync(full_warp, sum, 0);
    }
};

/// A tile is `warps` times `rows` rows; a warp has adjacent rows.
template <unsigned warps, unsigned rows, class LookBack>
__device__ void scan(const element* __restrict__ from, element* __restrict__ to, word* state,
                     unsigned long long n, LookBack look_back) {
    constexpr unsigned tile = warps * rows * row_size;
    __shared__ Ticket shared_ticket;
    __shared__ element of_warps[warps];
    __shared__ element shared_before;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;

    // Blocks take tiles in the order in which they start: a tile waits only for running blocks.
    if (threadIdx.x == 0) {
        shared_ticket = take_ticket(state);
        if (shared_ticket.number == gridDim.x - 1) start_next_epoch(state, shared_ticket.epoch);
    }
    __syncthreads();
    const auto [t, epoch] = shared_ticket;

    const unsigned long long base =
        static_cast<unsigned long long>(t) * tile + warp * rows * row_size + lane * width;
    const bool whole = is_whole(from, to, t, tile, n);
    Vector v[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned long long at = base + r * row_size;
        v[r] = whole ? load_streaming(from + at) : load_slowly(from, at, n);
    }
    element carry = identity();
#pragma unroll
    for (unsigned r = 0; r < rows; ++r)
        fold(carry, scan_row(v[r], carry));
    if (lane == 0) of_warps[warp] = carry;
    __syncthreads();

    element before_warp = identity();
    element of_tile = identity();
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
        if (w == warp) before_warp = of_tile;
        fold(of_tile, of_warps[w]);
    }
    element before = identity();
    if constexpr (LookBack::publishes_prefix) {
        if (warp == 0) {
            if (t > 0) {
                if (lane == 0) publish(state, t, of_tile, epoch, aggregate);
                before = look_back(state, t, epoch);
            }
            if (lane == 0) {
                publish(state, t, combine(before, of_tile), epoch, prefix);
                shared_before = before;
            }
        }
        __syncthreads();
        before = shared_before;
    } else {
        if (threadIdx.x == 0) publish(state, t, of_tile, epoch, aggregate);
        before = look_back(state, t, epoch);
    }
    fold(before, before_warp);
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned long long at = base + r * row_size;
#pragma unroll
        for (unsigned i = 0; i < width; ++i)
            fold(v[r].e[i], before);
        if (whole)
            store_streaming(to + at, v[r]);
        else
            store_slowly(to, at, n, v[r]);
    }
}

}  // namespace

// 8 KiB of elements for each block: all multiprocessors take part in a short scan.
extern "C" __global__ void __launch_bounds__(256)
    scan_wave_small(const element* __restrict__ from, element* __restrict__ to,
                    unsigned long long* state, unsigned long long n) {
    scan<8, 2>(from, to, state, n, WholeLookBack<8>{});
}

// 32 KiB.
extern "C" __global__ void __launch_bounds__(256)
    scan_wave(const element* __restrict__ from, element* __restrict__ to, unsigned long long* state,
              unsigned long long n) {
    scan<8, 8>(from, to, state, n, WholeLookBack<8>{});
}

// 64 KiB.
extern "C" __global__ void __launch_bounds__(512)
    scan_warp(const element* __restrict__ from, element* __restrict__ to, unsigned long long* state,
              unsigned long long n) {
    scan<16, 8>(from, to, state, n, WarpLookBack{});
}

extern "C" __global__ void __launch_bounds__(512)
    scan_serial(const element* __restrict__ from, element* __restrict__ to,
                unsigned long long* state, unsigned long long n) {
    scan<16, 8>(from, to, state, n, SerialLookBack{});
}
