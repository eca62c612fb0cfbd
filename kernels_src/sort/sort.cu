// The kernels of a row of the sort. Its definitions: SORT_KEY (int, float or long long), SORT_VALUES
// (whether each key has a value of 32 bits), SORT_WORD (unsigned for less than 2^30 keys, else
// unsigned long long), SORT_THREADS and SORT_ITEMS (of a block and of a thread), SORT_BLOCKS (that
// share a multiprocessor) and SORT_SHARED_BYTES (the dynamic shared memory of sort_pass).
#include "sort.cuh"

namespace {

using Tiles = Tiling<SORT_KEY, SORT_WORD, SORT_VALUES != 0, SORT_THREADS, SORT_ITEMS>;
using Bits = Tiles::Bits;
using Word = Tiles::Word;
constexpr unsigned passes = sizeof(Bits);
constexpr unsigned count_threads = 512;  // As in sort.cpp.

static_assert(sizeof(Tiles::Shared) <= SORT_SHARED_BYTES);

}  // namespace

/// Before the first pass: counts the digits of the keys.
extern "C" __global__ void __launch_bounds__(count_threads)
    sort_count(const Bits* __restrict__ keys, Word* state, unsigned long long n) {
    count_digits<SORT_KEY, Word, count_threads>(keys, state + 1, n);
}

/// One pass; the values are null if there are none. A block sorts a tile.
extern "C" __global__ void __launch_bounds__(SORT_THREADS, SORT_BLOCKS)
    sort_pass(const Bits* __restrict__ from, Bits* __restrict__ to,
              const unsigned* __restrict__ from_values, unsigned* __restrict__ to_values,
              Word* state, unsigned long long n, unsigned pass) {
    extern __shared__ __align__(16) unsigned char shared[];
    sort_by_digit<Tiles>({from, to, from_values, to_values, state + 1 + pass * digits, state,
                          state + 1 + passes * digits, n, pass, passes},
                         *reinterpret_cast<Tiles::Shared*>(shared));
}
