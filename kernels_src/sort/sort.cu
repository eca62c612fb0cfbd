// The kernels of a row in which each block sorts one tile.
#include "sort_definitions.cuh"

static_assert(sizeof(Tiles::Shared) <= SORT_SHARED_BYTES);

/// Before the first pass: counts the digits of the keys.
extern "C" __global__ void __launch_bounds__(512)
    sort_count(const Bits* __restrict__ keys, Word* state, unsigned long long n) {
    count_digits<SORT_KEY, Word, 512>(keys, state + 1, n);
}

/// One pass; the values are null if there are none.
extern "C" __global__ void __launch_bounds__(SORT_THREADS, SORT_BLOCKS)
    sort_pass(const Bits* __restrict__ from, Bits* __restrict__ to,
              const unsigned* __restrict__ from_values, unsigned* __restrict__ to_values,
              Word* state, unsigned long long n, unsigned pass) {
    extern __shared__ __align__(16) unsigned char shared[];
    sort_by_digit<Tiles>(arguments_of(from, to, from_values, to_values, state, n, pass),
                         *reinterpret_cast<Tiles::Shared*>(shared));
}
