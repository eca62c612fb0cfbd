// The types of a row's kernels, by the row's definitions. Without any, keys of 32 bits.
//
//     SORT_KEY                      a number of 32 or 64 bits, or Descending<of it>
//     SORT_VALUES                   whether each key has a value of 32 bits
//     SORT_WORD                     unsigned for less than 2^30 keys, else unsigned long long
//     SORT_THREADS, SORT_ITEMS      of a block and of a thread
//     SORT_BLOCKS                   that share a multiprocessor
//     SORT_SHARED_BYTES             dynamic shared memory of sort_pass
//     SORT_REUSES_ARRIVED, SORT_TAKES_LATE   see Tiling
#pragma once

#include "sort.cuh"

#ifndef SORT_KEY
#define SORT_KEY int
#define SORT_VALUES 0
#define SORT_WORD unsigned
#define SORT_THREADS 256
#define SORT_ITEMS 12
#define SORT_BLOCKS 2
#define SORT_REUSES_ARRIVED false
#define SORT_TAKES_LATE false
#define SORT_SHARED_BYTES 65536
#endif

namespace {

using Tiles = Tiling<SORT_KEY, SORT_WORD, SORT_VALUES != 0, SORT_THREADS, SORT_ITEMS,
                     SORT_REUSES_ARRIVED, SORT_TAKES_LATE>;
using Bits = Tiles::Bits;
using Word = Tiles::Word;
constexpr unsigned passes = sizeof(Bits);

__device__ inline PassArguments<Bits, Word> arguments_of(const Bits* from, Bits* to,
                                                         const unsigned* from_values,
                                                         unsigned* to_values, Word* state,
                                                         unsigned long long n, unsigned pass) {
    Word* const counts = state + 1;
    return {from,  to, from_values, to_values, counts + pass * digits, state, counts + passes * digits,
            n,     pass, passes};
}

}  // namespace
