// Shared by the rows of the scan: elements and vectors, and the words through which tiles exchange
// their sums.
//
// Definitions; without any, sums of 32-bit integers:
//
//     LODE_ELEMENT     a number of 32 or 64 bits
//     LODE_COMBINE     an expression of two elements a and b, associative and commutative
//     LODE_IDENTITY    the element that changes no other when they are combined
//
// The state holds a word of a ticket and an epoch, a word that counts finished blocks, and after
// them one word of 64 bits for every 32 bits of each tile's sum: half value, half epoch and flag, so
// that one relaxed load reads all three. The epoch distinguishes the words of a launch from those of
// earlier ones. The last ticket's owner moves it on for the next launch: a launch needs no other
// kernel to reset the state, and it may be replayed in a graph. The state is zeroed once, and again
// before 2^30 launches have passed whose numbers of elements differ.
#pragma once

#ifndef LODE_ELEMENT
#define LODE_ELEMENT unsigned
#endif
namespace {

using element = LODE_ELEMENT;
using word = unsigned long long;

constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned width = 16 / sizeof(element);  // Elements of a vector.
constexpr unsigned row_size = 32 * width;         // Elements that a warp reads at once.
constexpr unsigned words_of_tile = sizeof(element) / 4;
constexpr unsigned first_word = 2;
constexpr unsigned last_epoch = (1U << 30) - 1;

constexpr unsigned not_yet = 0;
constexpr unsigned aggregate = 1;  // The tile's own sum.
constexpr unsigned prefix = 2;     // The sum up to the tile's end.

struct alignas(16) Vector {
    element e[width];
};

#ifdef LODE_COMBINE
#define LODE_ADDS 0
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
#define LODE_ADDS 1
#define combine(a, b) ((a) + (b))
#define fold(sum, value) (sum) += (value)
#define identity() element{0}
#endif

/// What a tile has published.
struct Published {
    unsigned flag;
    element value;
};

struct Ticket {
    unsigned number;
    unsigned epoch;
};

__device__ inline Ticket take_ticket(word* state) {
    const word both = atomicAdd(state, 1ULL);
    return {static_cast<unsigned>(both), static_cast<unsigned>(both >> 32)};
}

/// For the owner of the launch's last ticket.
__device__ inline void start_next_epoch(word* state, unsigned epoch) {
    *state = static_cast<word>(epoch == last_epoch ? 0 : epoch + 1) << 32;
}

__device__ inline void publish(word* state, unsigned tile, element value, unsigned epoch,
                               unsigned flag) {
    word* const at = state + first_word + tile * words_of_tile;
    const unsigned mark = epoch << 2 | flag;
    unsigned bits[words_of_tile];
    memcpy(bits, &value, sizeof(value));
    if constexpr (words_of_tile == 1) {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at),
                     "l"(static_cast<word>(bits[0]) << 32 | mark)
                     : "memory");
    } else {
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at),
                     "l"(static_cast<word>(bits[0]) << 32 | mark),
                     "l"(static_cast<word>(bits[words_of_tile - 1]) << 32 | mark)
                     : "memory");
    }
}

/// Each half of a wide value has its own mark: a value counts once both halves have the same one.
__device__ inline Published peek(const word* state, unsigned tile, unsigned epoch) {
    const word* const at = state + first_word + tile * words_of_tile;
    word words[words_of_tile];
    if constexpr (words_of_tile == 1) {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(words[0]) : "l"(at) : "memory");
    } else {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(words[0]), "=l"(words[words_of_tile - 1])
                     : "l"(at)
                     : "memory");
    }
    const unsigned mark = static_cast<unsigned>(words[0]);
    const bool is_whole = mark == static_cast<unsigned>(words[words_of_tile - 1]);
    unsigned bits[words_of_tile];
    for (unsigned i = 0; i < words_of_tile; ++i)
        bits[i] = static_cast<unsigned>(words[i] >> 32);
    Published found{is_whole && mark >> 2 == epoch ? mark & 3U : not_yet, identity()};
    memcpy(&found.value, bits, sizeof(element));
    return found;
}

/// The same once there is something.
__device__ inline Published await(const word* state, unsigned tile, unsigned epoch) {
    Published found = peek(state, tile, epoch);
    while (found.flag == not_yet)
        found = peek(state, tile, epoch);
    return found;
}

/// The sum over the warp, in every lane.
template <class T>
__device__ T warp_sum(T value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        fold(value, __shfl_xor_sync(full_warp, value, offset));
    return value;
}
#if LODE_ADDS && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ inline unsigned warp_sum(unsigned value) {
    return __reduce_add_sync(full_warp, value);
}
#endif

/// The sum of this lane's value and of those of the lanes below it.
__device__ inline element inclusive_over_warp(element value) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        const element below = __shfl_up_sync(full_warp, value, offset);
        if (lane >= offset) fold(value, below);
    }
    return value;
}

/// The sum of the lanes below, from the inclusive one.
__device__ inline element sum_below(element inclusive, element own) {
    // Floats aren't subtracted: that would round, and it has no result for infinities.
    constexpr bool subtracts = LODE_ADDS && element(1) / 2 == 0;
    if constexpr (subtracts) return inclusive - own;
    const element below = __shfl_up_sync(full_warp, inclusive, 1);
    return threadIdx.x % 32 == 0 ? identity() : below;
}

/// Replaces the elements by their prefix sums, and adds `before` and the lanes below to them;
/// returns the sum of the row.
__device__ inline element scan_row(Vector& vector, element before) {
#pragma unroll
    for (unsigned i = 1; i < width; ++i)
        fold(vector.e[i], vector.e[i - 1]);
    const element inclusive = inclusive_over_warp(vector.e[width - 1]);
    const element base = combine(before, sum_below(inclusive, vector.e[width - 1]));
#pragma unroll
    for (unsigned i = 0; i < width; ++i)
        fold(vector.e[i], base);
    return __shfl_sync(full_warp, inclusive, 31);
}

__device__ inline Vector load_streaming(const element* from) {
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(from));
    Vector vector;
    memcpy(&vector, &bits, sizeof(vector));
    return vector;
}

__device__ inline void store_streaming(element* to, const Vector& vector) {
    uint4 bits;
    memcpy(&bits, &vector, sizeof(vector));
    __stcs(reinterpret_cast<uint4*>(to), bits);
}

/// The elements from `at` on, one by one; identities past the end.
__device__ inline Vector load_slowly(const element* from, unsigned long long at,
                                     unsigned long long n) {
    Vector vector;
#pragma unroll
    for (unsigned i = 0; i < width; ++i)
        vector.e[i] = at + i < n ? from[at + i] : identity();
    return vector;
}

__device__ inline void store_slowly(element* to, unsigned long long at, unsigned long long n,
                                    const Vector& vector) {
#pragma unroll
    for (unsigned i = 0; i < width; ++i) {
        if (at + i < n) to[at + i] = vector.e[i];
    }
}

/// Whether tile `t` of `tile` elements lies entirely inside and both arrays allow 16-byte accesses.
__device__ inline bool is_whole(const element* from, const element* to, unsigned t, unsigned tile,
                                unsigned long long n) {
    return (static_cast<unsigned long long>(t) + 1) * tile <= n &&
           (reinterpret_cast<unsigned long long>(from) | reinterpret_cast<unsigned long long>(to)) %
                   16 ==
               0;
}

}  // namespace
