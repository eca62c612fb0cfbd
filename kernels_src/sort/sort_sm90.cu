// The kernels of a row with persistent blocks.
#include "sort_definitions.cuh"
#include "sort_sm90.cuh"

static_assert(sizeof(BulkShared<Tiles>) <= SORT_SHARED_BYTES);

/// Before the first pass: counts the digits of the keys. Dynamic shared memory: 128 KiB.
extern "C" __global__ void __launch_bounds__(1024)
    sort_count(const Bits* __restrict__ keys, Word* state, unsigned long long n) {
    extern __shared__ __align__(16) unsigned char shared[];
    count_digits_by_lane<SORT_KEY, Word, 1024>(keys, state + 1, n,
                                               reinterpret_cast<unsigned*>(shared));
}

/// One pass; the values are null if there are none.
extern "C" __global__ void __launch_bounds__(SORT_THREADS, SORT_BLOCKS)
    sort_pass(const Bits* __restrict__ from, Bits* __restrict__ to,
              const unsigned* __restrict__ from_values, unsigned* __restrict__ to_values,
              Word* state, unsigned long long n, unsigned pass) {
    extern __shared__ __align__(16) unsigned char shared[];
    sort_by_digit_bulk<Tiles>(arguments_of(from, to, from_values, to_values, state, n, pass),
                              *reinterpret_cast<BulkShared<Tiles>*>(shared));
}
