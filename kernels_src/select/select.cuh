// Shared by the rows of the selection: the predicate, and the words through which tiles exchange
// their numbers of selected elements.
//
// Definitions of a row; without the first four, a selection of int:
//
//     SELECT_ELEMENT                  int, float, long long …
//     SELECT_THREADS, SELECT_ITEMS    of a block and of a thread
//     SELECT_PARTITION                1 if the other elements are written as well, from the end on
//     SELECT_PREDICATE                an expression of the element x that may be the user's
//
// The state holds a word of a ticket and an epoch, a word that counts finished blocks, and one word
// for each tile: a number, the epoch and a flag. The epoch distinguishes the words of a launch from
// those of earlier ones; each launch moves it on, so it may be replayed in a graph. The state is
// zeroed once, and again before 2^16 launches have passed whose numbers of elements differ.
#pragma once

#ifndef SELECT_ELEMENT
#define SELECT_ELEMENT int
#define SELECT_THREADS 256
#define SELECT_ITEMS 16
#define SELECT_PARTITION 0
#endif
#ifndef SELECT_PREDICATE
#define SELECT_PREDICATE x > 0
#endif

namespace {

using Element = SELECT_ELEMENT;
using word = unsigned long long;

constexpr unsigned threads = SELECT_THREADS;
constexpr unsigned items = SELECT_ITEMS;
constexpr bool partitions = SELECT_PARTITION != 0;
constexpr unsigned warps = threads / 32;
constexpr unsigned share = items * 32;  // Elements of a warp.
constexpr unsigned tile = warps * share;
constexpr unsigned full_warp = 0xffffffffU;

constexpr unsigned not_yet = 0;
constexpr unsigned aggregate = 1;  // The tile's own number.
constexpr unsigned prefix = 2;     // Up to the tile's end.
constexpr unsigned epoch_bits = 16;
constexpr unsigned epoch_mask = (1U << epoch_bits) - 1;
constexpr unsigned flag_bits = 2;
constexpr unsigned first_word = 2;  // Tile 0's word in the state.

__device__ inline bool is_selected(const Element x) {
    return SELECT_PREDICATE;
}

struct Ticket {
    unsigned number;
    unsigned epoch;
};

__device__ inline Ticket take_ticket(word* state) {
    const word both = atomicAdd(state, 1ULL);
    return {static_cast<unsigned>(both), static_cast<unsigned>(both >> 32)};
}

/// For a caller that knows that no more tickets are taken in this launch.
__device__ inline void start_next_epoch(word* state, unsigned epoch) {
    atomicExch(state, static_cast<word>((epoch + 1) & epoch_mask) << 32);
}

__device__ inline void publish(word* at, word value, unsigned epoch, unsigned flag) {
    const word packed = value << (epoch_bits + flag_bits) | epoch << flag_bits | flag;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(packed) : "memory");
}

__device__ inline word peek(const word* at) {
    word packed = 0;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(packed) : "l"(at) : "memory");
    return packed;
}

__device__ inline unsigned flag_of(word packed, unsigned epoch) {
    const auto low = static_cast<unsigned>(packed);
    return (low >> flag_bits & epoch_mask) == epoch ? low & ((1U << flag_bits) - 1) : not_yet;
}

__device__ inline word value_of(word packed) {
    return packed >> (epoch_bits + flag_bits);
}

template <class T>
__device__ T sum_over_warp(T value) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(full_warp, value, offset);
    return value;
}

/// The place in its warp's share of a lane's i-th element: a lane has `width` adjacent ones of each
/// row of 32 · width.
template <unsigned width>
__device__ unsigned place_of(unsigned i) {
    return i / width * 32 * width + threadIdx.x % 32 * width + i % width;
}

/// Puts the selected elements of this warp's share in front, in their order, and, if it partitions,
/// the others after them in reverse order. Places from `valid` on have no elements. Returns the
/// number of selected elements. `staged` may be where the elements were.
template <unsigned width>
__device__ unsigned compact(const Element (&elements)[items], unsigned valid, Element* staged) {
    unsigned lower = 0;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
    unsigned count = 0;
    __syncwarp();
#pragma unroll
    for (unsigned row = 0; row < items; row += width) {
        bool selected[width];
        unsigned before = count;
#pragma unroll
        for (unsigned e = 0; e < width; ++e) {
            selected[e] = place_of<width>(row + e) < valid && is_selected(elements[row + e]);
            const unsigned peers = __ballot_sync(full_warp, selected[e]);
            before += __popc(peers & lower);
            count += __popc(peers);
        }
#pragma unroll
        for (unsigned e = 0; e < width; ++e) {
            const unsigned at = place_of<width>(row + e);
            if (selected[e])
                staged[before++] = elements[row + e];
            else if (partitions && at < valid)
                staged[valid - 1 - (at - before)] = elements[row + e];
        }
    }
    __syncwarp();
    return count;
}

/// Writes what compact() left of a warp's share to the output. `start` is the share's first element,
/// `before` the number of selected elements before it.
__device__ inline void write_share(const Element* staged, Element* to, unsigned count,
                                   unsigned valid, unsigned long long start,
                                   unsigned long long before, unsigned long long n) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 4
    for (unsigned i = lane; i < count; i += 32)
        to[before + i] = staged[i];
    if constexpr (partitions) {
        // In reverse order: the last of the share goes before all of its others.
        const unsigned long long rest = n - (start - before) - (valid - count);
#pragma unroll 4
        for (unsigned i = lane; i < valid - count; i += 32)
            to[rest + i] = staged[count + i];
    }
}

/// How many elements of the warp's share at `start` exist.
__device__ inline unsigned valid_of(unsigned long long start, unsigned long long n) {
    return start >= n ? 0U : n - start < share ? static_cast<unsigned>(n - start) : share;
}

}  // namespace
