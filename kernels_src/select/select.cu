// Selection in one pass with decoupled look-back: a block has one tile.
#include "select.cuh"

namespace {

/// The number of selected elements before tile t: a whole warp looks at 32 tiles at a time.
__device__ word look_back(const word* tiles, unsigned t, unsigned epoch) {
    const unsigned lane = threadIdx.x % 32;
    word sum = 0;
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
        sum += sum_over_warp(lane <= last ? value_of(packed) : word{0});
        if (with_prefix != 0) return sum;
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    select_look_back(const Element* __restrict__ from, Element* __restrict__ to, unsigned* selected,
                     unsigned long long* state, unsigned epoch, unsigned long long n) {
    __shared__ Element staged[tile];
    __shared__ unsigned of_warps[warps];
    __shared__ unsigned ticket;
    __shared__ word before_tile;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;

    // Blocks take tiles in the order in which they start: a tile waits only for running blocks.
    if (threadIdx.x == 0) {
        auto* const counter = reinterpret_cast<unsigned*>(state);
        ticket = atomicAdd(counter, 1U);
        if (ticket == gridDim.x - 1) atomicExch(counter, 0U);
    }
    __syncthreads();
    const unsigned t = ticket;
    const unsigned long long start = static_cast<unsigned long long>(t) * tile + warp * share;
    const unsigned valid = valid_of(start, n);
    Element elements[items];
#pragma unroll
    for (unsigned i = 0; i < items; ++i) {
        const unsigned at = i * 32 + lane;
        elements[i] = at < valid ? __ldcs(from + start + at) : Element{};
    }
    Element* const own = staged + warp * share;
    const unsigned count = compact(elements, valid, own);
    if (lane == 0) of_warps[warp] = count;
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
        word before = 0;
        if (t > 0) {
            if (lane == 0) publish(tiles + t, of_tile, epoch, aggregate);
            before = look_back(tiles, t, epoch);
        }
        if (lane == 0) {
            publish(tiles + t, before + of_tile, epoch, prefix);
            before_tile = before;
            if (t == gridDim.x - 1) *selected = static_cast<unsigned>(before + of_tile);
        }
    }
    __syncthreads();
    write_share(own, to, count, valid, start, before_tile + before_warp, n);
}
