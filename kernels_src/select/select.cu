// Selection in one pass with look-back: a block has one tile.
#include "select.cuh"

namespace {

constexpr unsigned width = 16 / sizeof(Element);
static_assert(items % width == 0 && threads <= 1024);

/// The number of selected elements before tile t, for all threads; `sums` and `found` have an element
/// for each warp. Each thread looks at one of the `threads` tiles before, the first at the nearest:
/// tiles that start at the same time need no prefixes of each other, only one look at the aggregates.
__device__ word look_back(const word* tiles, unsigned t, unsigned epoch, word* sums,
                          unsigned* found) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    word before = 0;
    for (long long newest = static_cast<long long>(t) - 1; newest >= 0; newest -= threads) {
        const long long mine = newest - threadIdx.x;
        word packed = 0;
        unsigned flag = prefix;  // Before the first tile: a prefix of zero.
        if (mine >= 0) {
            do {
                packed = peek(tiles + mine);
                flag = flag_of(packed, epoch);
            } while (flag == not_yet);
        }
        __syncwarp();
        const unsigned with_prefix = __ballot_sync(full_warp, flag == prefix);
        const unsigned last = with_prefix != 0 ? __ffs(static_cast<int>(with_prefix)) - 1 : 31;
        const word sum = sum_over_warp(lane <= last ? value_of(packed) : word{0});
        __syncthreads();
        if (lane == 0) {
            sums[warp] = sum;
            found[warp] = with_prefix;
        }
        __syncthreads();
        for (unsigned w = 0; w < warps; ++w) {
            before += sums[w];
            if (found[w] != 0) return before;
        }
    }
    return before;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    select_look_back(const Element* __restrict__ from, Element* __restrict__ to, unsigned* selected,
                     unsigned long long* state, unsigned long long n) {
    __shared__ Element staged[tile];
    __shared__ unsigned of_warps[warps];
    __shared__ word sums[warps];
    __shared__ unsigned found[warps];
    __shared__ Ticket ticket;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;

    // Blocks take tiles in the order in which they start: a tile waits only for running blocks.
    if (threadIdx.x == 0) {
        ticket = take_ticket(state);
        if (ticket.number == gridDim.x - 1) start_next_epoch(state, ticket.epoch);
    }
    __syncthreads();
    const auto [t, epoch] = ticket;
    const unsigned long long start = static_cast<unsigned long long>(t) * tile + warp * share;
    const unsigned valid = valid_of(start, n);
    Element elements[items];
    Element* const own = staged + warp * share;
    unsigned count = 0;
    if (valid == share && reinterpret_cast<unsigned long long>(from) % 16 == 0) {
#pragma unroll
        for (unsigned i = 0; i < items; i += width) {
            const uint4 bits =
                __ldcs(reinterpret_cast<const uint4*>(from + start + place_of<width>(i)));
            memcpy(elements + i, &bits, sizeof(bits));
        }
        count = compact<width>(elements, valid, own);
    } else {
#pragma unroll
        for (unsigned i = 0; i < items; ++i) {
            const unsigned at = place_of<1>(i);
            elements[i] = at < valid ? from[start + at] : Element{};
        }
        count = compact<1>(elements, valid, own);
    }
    if (lane == 0) of_warps[warp] = count;
    __syncthreads();
    unsigned before_warp = 0;
    unsigned of_tile = 0;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
        if (w == warp) before_warp = of_tile;
        of_tile += of_warps[w];
    }
    word* const tiles = state + first_word;
    if (t > 0 && threadIdx.x == 0) publish(tiles + t, of_tile, epoch, aggregate);
    const word before_tile = look_back(tiles, t, epoch, sums, found);
    if (threadIdx.x == 0) {
        publish(tiles + t, before_tile + of_tile, epoch, prefix);
        if (t == gridDim.x - 1) *selected = static_cast<unsigned>(before_tile + of_tile);
    }
    write_share(own, to, count, valid, start, before_tile + before_warp, n);
}
