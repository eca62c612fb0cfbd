// Radix sort by digits of 8 bits, the lowest first (Adinets and Merrill, "Onesweep", 2022): one
// kernel counts all digits of all keys, then each pass reads the keys once and writes them in the
// order of one digit. A tile learns its position in the output by decoupled look-back.
//
// State, in words: a ticket, the counts of each pass, and 256 for each tile. All are zero before the
// first sort. Every sort leaves tickets and counts zero; the words of tiles need no clearing (see
// Codes).
#pragma once

namespace {

constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned digits = 256;
constexpr unsigned digit_warps = digits / 32;

/// Keys as unsigned integers of the same order. The order of floats is total: negative NaNs,
/// numbers with -0 before 0, positive NaNs.
template <class Key>
struct Order;

template <>
struct Order<int> {
    using Bits = unsigned;
    static __device__ Bits encode(Bits key) { return key ^ 0x80000000U; }
    static __device__ Bits decode(Bits key) { return key ^ 0x80000000U; }
};

template <>
struct Order<float> {
    using Bits = unsigned;
    static __device__ Bits encode(Bits key) {
        return key ^ (static_cast<unsigned>(static_cast<int>(key) >> 31) | 0x80000000U);
    }
    static __device__ Bits decode(Bits key) { return key ^ (((key >> 31) - 1U) | 0x80000000U); }
};

template <>
struct Order<long long> {
    using Bits = unsigned long long;
    static __device__ Bits encode(Bits key) { return key ^ 0x8000000000000000ULL; }
    static __device__ Bits decode(Bits key) { return key ^ 0x8000000000000000ULL; }
};

template <>
struct Order<double> {
    using Bits = unsigned long long;
    static __device__ Bits encode(Bits key) {
        return key ^ (static_cast<Bits>(static_cast<long long>(key) >> 63) | 0x8000000000000000ULL);
    }
    static __device__ Bits decode(Bits key) {
        return key ^ (((key >> 63) - 1U) | 0x8000000000000000ULL);
    }
};

template <>
struct Order<unsigned> {
    using Bits = unsigned;
    static __device__ Bits encode(Bits key) { return key; }
    static __device__ Bits decode(Bits key) { return key; }
};

template <>
struct Order<unsigned long long> {
    using Bits = unsigned long long;
    static __device__ Bits encode(Bits key) { return key; }
    static __device__ Bits decode(Bits key) { return key; }
};

/// Keys of which the largest comes first.
template <class Key>
struct Descending;

template <class Key>
struct Order<Descending<Key>> {
    using Bits = typename Order<Key>::Bits;
    static __device__ Bits encode(Bits key) { return ~Order<Key>::encode(key); }
    static __device__ Bits decode(Bits key) { return Order<Key>::decode(~key); }
};

__device__ inline unsigned digit_of(unsigned key, unsigned pass) {
    return __byte_perm(key, 0U, 0x4440U + pass);
}

__device__ inline unsigned digit_of(unsigned long long key, unsigned pass) {
    const auto half = static_cast<unsigned>(pass < 4 ? key : key >> 32);
    return digit_of(half, pass % 4);
}

/// A tile's word for one digit: a number of keys below the code.
template <class Word>
struct Codes;
/// The last two bits say what the number is. Every tile's last word of a pass is a prefix; its code
/// depends on whether the pass is odd, so a word of the pass before reads as "not yet", and so does
/// one of an earlier sort, whose last pass was odd.
template <>
struct Codes<unsigned> {
    static constexpr unsigned shift = 30;
};
template <>
struct Codes<unsigned long long> {
    static constexpr unsigned shift = 62;
};
constexpr unsigned aggregate_code = 1;  // The tile's own keys.
constexpr unsigned prefix_code = 2;     // The position after the tile's keys; 3 in odd passes.

__device__ inline void publish(unsigned* at, unsigned word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(word) : "memory");
}
__device__ inline void publish(unsigned long long* at, unsigned long long word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}
__device__ inline unsigned peek(const unsigned* at) {
    unsigned word = 0;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
    return word;
}
__device__ inline unsigned long long peek(const unsigned long long* at) {
    unsigned long long word = 0;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

/// The lanes of this warp with the same digit. `minus_one` must be unknown to the compiler: a
/// complement as a multiplication leaves the pipe of logic operations, which limits the sort, alone.
__device__ inline unsigned peers_of(unsigned digit, unsigned minus_one) {
    unsigned peers = full_warp;
#pragma unroll
    for (unsigned bit = 1; bit < digits; bit *= 4) {
        // Two bits at once, so that three operands make one instruction.
        asm volatile(
            "{\n"
            ".reg .pred set;\n"
            ".reg .b32 bits, low, high;\n"
            "and.b32 bits, %1, %2;\n"
            "setp.ne.u32 set, bits, 0;\n"
            "vote.sync.ballot.b32 low, set, 0xffffffff;\n"
#ifdef SORT_LOGIC
            "@!set not.b32 low, low;\n"
#else
            "@!set mad.lo.u32 low, low, %4, %4;\n"
#endif
            "and.b32 bits, %1, %3;\n"
            "setp.ne.u32 set, bits, 0;\n"
            "vote.sync.ballot.b32 high, set, 0xffffffff;\n"
#ifdef SORT_LOGIC
            "@!set not.b32 high, high;\n"
#else
            "@!set mad.lo.u32 high, high, %4, %4;\n"
#endif
            "lop3.b32 %0, %0, low, high, 0x80;\n"
            "}\n"
            : "+r"(peers)
            : "r"(digit), "r"(bit), "r"(bit * 2), "r"(minus_one));
    }
    return peers;
}

/// What the ranking needs to know of its lane.
struct Lane {
    unsigned lower;      ///< The lanes below,
    unsigned higher;     ///< and those above.
    unsigned minus_one;  ///< See peers_of().

    /// `n` is the number of keys, which is never 0.
    __device__ explicit Lane(unsigned long long n) : minus_one(n == 0 ? 0U : ~0U) {
        asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
        asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(higher));
    }
};

/// The number of the warp's earlier keys with each of these digits, and adds these to them. All
/// lanes' first keys are before their second ones.
template <unsigned size, class Counter>
__device__ void rank_group(const unsigned (&group)[size], unsigned (&ranks)[size], Counter* counts,
                           const Lane& lane) {
    unsigned peers[size];
#pragma unroll
    for (unsigned i = 0; i < size; ++i)
        peers[i] = peers_of(group[i], lane.minus_one);
#pragma unroll
    for (unsigned i = 0; i < size; ++i) {
        ranks[i] = counts[group[i]] + __popc(peers[i] & lane.lower);
        __syncwarp();
        if ((peers[i] & lane.higher) == 0) counts[group[i]] = static_cast<Counter>(ranks[i] + 1);
        __syncwarp();
    }
}

/// The exclusive sum over the first 256 threads; all threads of the block call it. `totals` has
/// 8 elements and may be reused after the block's next barrier.
template <class T>
__device__ T exclusive_over_digits(T value, T* totals) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    T inclusive = value;
#pragma unroll
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        const T below = __shfl_up_sync(full_warp, inclusive, offset);
        if (lane >= offset) inclusive += below;
    }
    if (warp < digit_warps && lane == 31) totals[warp] = inclusive;
    __syncthreads();
    T before = 0;
#pragma unroll
    for (unsigned w = 0; w < digit_warps; ++w)
        before += w < warp ? totals[w] : T{0};
    return before + inclusive - value;
}

/// How a pass works on tiles. The last two are for persistent blocks (sort_sm90.cuh): whether sorted
/// values go where the keys arrived, which leaves room for larger tiles, and whether a block takes its
/// next tile after it has looked back, which is better for few tiles.
template <class KeyType, class WordType, bool with_values, unsigned thread_count,
          unsigned item_count, bool reuses_arrived_keys = false, bool takes_tiles_late = false>
struct Tiling {
    using Key = KeyType;
    using Bits = typename Order<Key>::Bits;
    using Word = WordType;
    using Counter = unsigned short;  // For tiles of less than 2^16 keys.
    static constexpr bool has_values = with_values;
    static constexpr unsigned threads = thread_count;
    static constexpr unsigned items = item_count;
    static constexpr unsigned warps = threads / 32;
    static constexpr unsigned tile = threads * items;
    static constexpr int window = 4;      // Tiles that a thread looks at at once.
    static constexpr unsigned group = 4;  // Keys whose peers are found at once.
    static constexpr bool reuses_arrived = reuses_arrived_keys;
    static constexpr bool takes_late = takes_tiles_late;
    static_assert(tile < 65536 && threads >= digits && items % 2 == 0 && items % group == 0);

    /// What a block keeps in dynamic shared memory.
    struct Shared {
        Bits keys[tile];
        unsigned values[has_values ? tile : 1];
        Word base[digits];  // Where a digit's first key goes, minus its position in the tile.
        Counter counts[warps][digits];
        unsigned totals[digit_warps];
        Word word_totals[digit_warps];
        unsigned ticket;
    };
};

/// The arguments of a pass.
template <class Bits, class Word>
struct PassArguments {
    const Bits* __restrict__ from;
    Bits* __restrict__ to;
    const unsigned* __restrict__ from_values;
    unsigned* __restrict__ to_values;
    Word* counts;  ///< 256 of this pass.
    Word* ticket;
    Word* tiles;
    unsigned long long n;
    unsigned pass;
    unsigned passes;
};

/// How many keys of digit threadIdx.x are before tile t's in the output, by look-back.
template <class T, class Word>
__device__ Word look_back(const Word* tiles, unsigned t, unsigned prefix) {
    constexpr unsigned shift = Codes<Word>::shift;
    constexpr Word mask = (Word{1} << shift) - 1;
    Word sum = 0;
    for (long long newest = static_cast<long long>(t) - 1;; newest -= T::window) {
        Word words[T::window];
#pragma unroll
        for (int k = 0; k < T::window; ++k)
            words[k] = newest - k >= 0 ? peek(tiles + (newest - k) * digits + threadIdx.x) : Word{0};
#pragma unroll
        for (int k = 0; k < T::window; ++k) {
            auto code = static_cast<unsigned>(words[k] >> shift);
            while (code != aggregate_code && code != prefix) {
                words[k] = peek(tiles + (newest - k) * digits + threadIdx.x);
                code = static_cast<unsigned>(words[k] >> shift);
            }
            sum += words[k] & mask;
            if (code == prefix) return sum;
        }
    }
}

/// Two ranks share a register. Sets them in order.
template <unsigned size>
__device__ void set_rank(unsigned (&ranks)[size], unsigned i, unsigned rank) {
    ranks[i / 2] = i % 2 == 0 ? rank : ranks[i / 2] | rank << 16;
}
template <unsigned size>
__device__ unsigned get_rank(const unsigned (&ranks)[size], unsigned i) {
    return i % 2 == 0 ? ranks[i / 2] & 0xffffU : ranks[i / 2] >> 16;
}

/// What a tile has of the digit threadIdx.x, for the first 256 threads.
struct InTile {
    unsigned count;      ///< The tile's keys.
    unsigned exclusive;  ///< The tile's keys of lower digits.
};

/// Replaces the counts of the warps by the positions in the tile at which they start. All threads
/// call it, between two barriers. Publishes the tile's counts if `word`, this thread's, isn't null.
template <class T>
__device__ InTile place_digits(typename T::Counter (&counts)[T::warps][digits], unsigned* totals,
                               typename T::Word* word) {
    const bool counts_digit = threadIdx.x < digits;
    unsigned count = 0;
    if (counts_digit) {
#pragma unroll
        for (unsigned w = 0; w < T::warps; ++w)
            count += counts[w][threadIdx.x];
        if (word != nullptr)
            publish(word, (typename T::Word{aggregate_code} << Codes<typename T::Word>::shift) | count);
    }
    const unsigned exclusive = exclusive_over_digits(count, totals);
    if (counts_digit) {
        unsigned before = exclusive;
#pragma unroll
        for (unsigned w = 0; w < T::warps; ++w) {
            const unsigned of_warp = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = static_cast<typename T::Counter>(before);
            before += of_warp;
        }
    }
    __syncthreads();
    return {count, exclusive};
}

/// Finds where each digit's first key of tile t goes, minus its position in the tile, and publishes
/// where the next tile's go. All threads call it, before a barrier.
template <class T>
__device__ void find_bases(const PassArguments<typename T::Bits, typename T::Word>& a,
                           typename T::Word* base, typename T::Word* totals, unsigned t,
                           unsigned count, unsigned exclusive) {
    using Word = typename T::Word;
    const bool counts_digit = threadIdx.x < digits;
    const unsigned prefix = prefix_code + a.pass % 2;
    Word before = 0;
    if (t == 0) {
        Word all = 0;
        if (counts_digit) {
            all = a.counts[threadIdx.x];
            a.counts[threadIdx.x] = 0;
        }
        before = exclusive_over_digits(all, totals);
    } else if (counts_digit) {
        before = look_back<T>(a.tiles, t, prefix);
    }
    if (counts_digit) {
        publish(a.tiles + static_cast<unsigned long long>(t) * digits + threadIdx.x,
                (Word{prefix} << Codes<Word>::shift) | (before + count));
        base[threadIdx.x] = before - exclusive;
    }
}

/// Sorts by one digit.
template <class T>
__device__ void sort_by_digit(const PassArguments<typename T::Bits, typename T::Word>& a,
                              typename T::Shared& shared) {
    using Bits = typename T::Bits;
    using Word = typename T::Word;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const bool first = a.pass == 0;
    const bool last = a.pass + 1 == a.passes;

    // Blocks take tiles in the order in which they start: a tile waits only for running blocks.
    if (threadIdx.x == 0) {
        const auto ticket = static_cast<unsigned>(atomicAdd(a.ticket, Word{1}));
        if (ticket == gridDim.x - 1) atomicExch(a.ticket, Word{0});
        shared.ticket = ticket;
    }
#pragma unroll
    for (unsigned d = lane; d < digits; d += 32)
        shared.counts[warp][d] = 0;
    __syncthreads();
    const unsigned t = shared.ticket;
    const unsigned long long start = static_cast<unsigned long long>(t) * T::tile;
    const bool whole = start + T::tile <= a.n;
    const unsigned valid = whole ? T::tile : static_cast<unsigned>(a.n - start);

    // A lane has every 32nd of its warp's keys. Keys past the end are the largest: they come last.
    const unsigned share = warp * T::items * 32 + lane;
    Bits keys[T::items];
#pragma unroll
    for (unsigned i = 0; i < T::items; ++i) {
        const unsigned at = share + i * 32;
        if (whole || at < valid) {
            keys[i] = a.from[start + at];
            if (first) keys[i] = Order<typename T::Key>::encode(keys[i]);
        } else {
            keys[i] = ~Bits{0};
        }
    }

    // The position of each key among the warp's keys of the same digit, two in a register.
    unsigned ranks[T::items / 2];
    typename T::Counter* const counts = shared.counts[warp];
    const Lane lanes(a.n);
    __syncwarp();
#pragma unroll
    for (unsigned first_of = 0; first_of < T::items; first_of += T::group) {
        unsigned group[T::group];
        unsigned of_group[T::group];
#pragma unroll
        for (unsigned i = 0; i < T::group; ++i)
            group[i] = digit_of(keys[first_of + i], a.pass);
        rank_group(group, of_group, counts, lanes);
#pragma unroll
        for (unsigned i = 0; i < T::group; ++i)
            set_rank(ranks, first_of + i, of_group[i]);
    }
    __syncthreads();

    Word* const own_word = a.tiles + static_cast<unsigned long long>(t) * digits + threadIdx.x;
    const auto [count, exclusive] =
        place_digits<T>(shared.counts, shared.totals, t != 0 ? own_word : nullptr);
    // Loads the values first: they arrive while the keys are moved.
    unsigned values[T::has_values ? T::items : 1];
    if constexpr (T::has_values) {
#pragma unroll
        for (unsigned i = 0; i < T::items; ++i) {
            const unsigned at = share + i * 32;
            values[i] = whole || at < valid ? a.from_values[start + at] : 0U;
        }
    }
#pragma unroll
    for (unsigned i = 0; i < T::items; ++i) {
        const unsigned before = counts[digit_of(keys[i], a.pass)];
        shared.keys[before + get_rank(ranks, i)] = keys[i];
        if constexpr (T::has_values) ranks[i / 2] += before << (i % 2 * 16);
    }
    if constexpr (T::has_values) {
#pragma unroll
        for (unsigned i = 0; i < T::items; ++i)
            shared.values[get_rank(ranks, i)] = values[i];
    }

    find_bases<T>(a, shared.base, shared.word_totals, t, count, exclusive);
    __syncthreads();

#pragma unroll
    for (unsigned i = 0; i < T::items; ++i) {
        const unsigned at = threadIdx.x + i * T::threads;
        if (whole || at < valid) {
            const Bits key = shared.keys[at];
            const Word target = shared.base[digit_of(key, a.pass)] + at;
            a.to[target] = last ? Order<typename T::Key>::decode(key) : key;
            if constexpr (T::has_values) a.to_values[target] = shared.values[at];
        }
    }
}

/// Calls work(bits) for this thread's share of the keys, of which it reads 16 bytes at a time.
template <class Key, class Work>
__device__ void for_keys(const typename Order<Key>::Bits* __restrict__ keys, unsigned long long n,
                         Work work) {
    using Bits = typename Order<Key>::Bits;
    constexpr unsigned at_once = 16 / sizeof(Bits);
    const unsigned long long thread = 1ULL * blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long all = 1ULL * gridDim.x * blockDim.x;
    const bool aligned = reinterpret_cast<unsigned long long>(keys) % 16 == 0;
    const unsigned long long groups = aligned ? n / at_once : 0;
#pragma unroll 4
    for (unsigned long long g = thread; g < groups; g += all) {
        const uint4 four = reinterpret_cast<const uint4*>(keys)[g];
        if constexpr (sizeof(Bits) == 4) {
            work(Order<Key>::encode(four.x));
            work(Order<Key>::encode(four.y));
            work(Order<Key>::encode(four.z));
            work(Order<Key>::encode(four.w));
        } else {
            work(Order<Key>::encode(static_cast<Bits>(four.y) << 32 | four.x));
            work(Order<Key>::encode(static_cast<Bits>(four.w) << 32 | four.z));
        }
    }
    for (unsigned long long i = groups * at_once + thread; i < n; i += all)
        work(Order<Key>::encode(keys[i]));
}

/// Adds the number of keys with each digit to counts[pass][digit].
template <class Key, class Word, unsigned threads>
__device__ void count_digits(const typename Order<Key>::Bits* __restrict__ keys, Word* counts,
                             unsigned long long n) {
    using Bits = typename Order<Key>::Bits;
    constexpr unsigned passes = sizeof(Bits);
    __shared__ unsigned bins[passes * digits];
    for (unsigned i = threadIdx.x; i < passes * digits; i += threads)
        bins[i] = 0;
    __syncthreads();
    for_keys<Key>(keys, n, [&](Bits bits) {
#pragma unroll
        for (unsigned pass = 0; pass < passes; ++pass)
            atomicAdd(bins + pass * digits + digit_of(bits, pass), 1U);
    });
    __syncthreads();
    for (unsigned i = threadIdx.x; i < passes * digits; i += threads) {
        if (bins[i] != 0) atomicAdd(counts + i, Word{bins[i]});
    }
}

/// The same with bins for each lane, or for two, so that lanes rarely want the same bank. `bins` are
/// 128 KiB of shared memory.
template <class Key, class Word, unsigned threads>
__device__ void count_digits_by_lane(const typename Order<Key>::Bits* __restrict__ keys, Word* counts,
                                     unsigned long long n, unsigned* bins) {
    using Bits = typename Order<Key>::Bits;
    constexpr unsigned passes = sizeof(Bits);
    constexpr unsigned lanes = 128 / passes;  // Lanes with bins of their own, for 4 or 8 passes.
    constexpr unsigned all_bins = passes * digits;
    for (unsigned i = threadIdx.x; i < all_bins * lanes; i += threads)
        bins[i] = 0;
    __syncthreads();
    unsigned* const own = bins + threadIdx.x % lanes;
    for_keys<Key>(keys, n, [&](Bits bits) {
#pragma unroll
        for (unsigned pass = 0; pass < passes; ++pass)
            atomicAdd(own + (pass * digits + digit_of(bits, pass)) * lanes, 1U);
    });
    __syncthreads();
    for (unsigned i = threadIdx.x; i < all_bins; i += threads) {
        unsigned count = 0;
        for (unsigned lane = 0; lane < lanes; ++lane)
            count += bins[i * lanes + (lane + i) % lanes];
        if (count != 0) atomicAdd(counts + i, Word{count});
    }
}

}  // namespace
