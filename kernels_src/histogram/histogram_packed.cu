// Counts the occurrences of each of 0 … bins - 1 for more bins than shared memory has words; other
// values are ignored. A cooperative launch with one block for each multiprocessor.
//
// Each block has counters for all bins in its shared memory, several to a word: up to eight fields
// of four bits. The blocks write their words to the workspace, and after a barrier of the grid they
// add up the fields of all.
//
// A counter that overflows into its neighbour makes the sum of all fields smaller by at least one
// less than a field's range. So a block counts without looking, and then compares the sum of its
// fields with the number of values that it has counted. If they differ, it counts its values again,
// slowly: in rounds, with atomic additions that return the field before them. The first addition of
// a round that overflows is certain to see a full field, because until then all fields are right. If
// a thread has seen one, all threads take back their additions of the round, which restores every
// word whatever happened in between, and count the round's values in the workspace instead. A field
// that reaches half its range moves that half to the workspace after its round.
//
// Workspace: a barrier of two words and two unused ones, a word for each bin in which the counts of
// full fields meet, both zero between launches, and the words of the blocks. Dynamic shared memory:
// the words of a block, a multiple of four, at least bins / 8.
namespace {

constexpr unsigned threads = 1024;
constexpr unsigned loads = 4;       // Of 16 bytes, for each thread at a time.
constexpr unsigned slow_loads = 2;  // In a round.
constexpr unsigned values_per_round = 4 * slow_loads;
constexpr unsigned most_fields = 8;
constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned ignored = 0xffffffffU;  // Not a bin.
constexpr unsigned barrier_words = 4;
constexpr unsigned columns = 64;  // Four words each, which a block adds up at a time.
constexpr unsigned groups = threads / columns;

/// Where the counters of the bins are: bin = field · words + word.
struct Layout {
    unsigned bins;
    unsigned words;
    unsigned fields;
    unsigned bits;
    unsigned full;  ///< A field with all bits set.
    unsigned half;
    unsigned reciprocal;

    __device__ Layout(unsigned bin_count, unsigned word_count)
        : bins(bin_count),
          words(word_count),
          fields((bin_count + word_count - 1) / word_count),
          bits(32 / fields),
          full(fields == 1 ? 0xffffffffU : (1U << bits) - 1),
          half(1U << (bits - 1)),
          reciprocal(0xffffffffU / word_count) {}
};

struct Place {
    unsigned word;
    unsigned shift;

    __device__ Place(const Layout& layout, unsigned bin) {
        unsigned field = __umulhi(bin, layout.reciprocal);  // At most one too low.
        word = bin - field * layout.words;
        if (word >= layout.words) {
            ++field;
            word -= layout.words;
        }
        shift = field * layout.bits;
    }
};

/// Adds one for each value of a warp to the counts in the workspace.
__device__ void count_slowly(unsigned* spilled, unsigned bins, unsigned value) {
    const unsigned same = __match_any_sync(full_warp, value);
    const unsigned lane = threadIdx.x % 32;
    if (value < bins && lane == static_cast<unsigned>(__ffs(static_cast<int>(same))) - 1)
        atomicAdd(spilled + value, static_cast<unsigned>(__popc(same)));
}

/// Counts a round's values.
__device__ void count_round(const Layout& layout, unsigned* words, unsigned* spilled,
                            const unsigned (&values)[values_per_round]) {
    unsigned before[values_per_round];
    bool overflows = false;
    bool reaches_half = false;
#pragma unroll
    for (unsigned i = 0; i < values_per_round; ++i) {
        before[i] = 0;
        if (values[i] < layout.bins) {
            const Place place(layout, values[i]);
            before[i] = atomicAdd(words + place.word, 1U << place.shift) >> place.shift;
        }
    }
#pragma unroll
    for (unsigned i = 0; i < values_per_round; ++i) {
        before[i] &= layout.full;
        overflows |= before[i] == layout.full;
        reaches_half |= before[i] == layout.half - 1;
    }
    if (__syncthreads_or(static_cast<int>(overflows)) != 0) {
        for (unsigned i = 0; i < values_per_round; ++i) {
            if (values[i] < layout.bins) {
                const Place place(layout, values[i]);
                atomicSub(words + place.word, 1U << place.shift);
            }
            count_slowly(spilled, layout.bins, values[i]);
        }
        __syncthreads();
    } else if (reaches_half) {
        for (unsigned i = 0; i < values_per_round; ++i) {
            if (values[i] >= layout.bins || before[i] != layout.half - 1) continue;
            const Place place(layout, values[i]);
            atomicSub(words + place.word, layout.half << place.shift);
            atomicAdd(spilled + values[i], layout.half);
        }
    }
}

/// Waits for all blocks of the grid, and sees what they have written.
__device__ void sync_grid(unsigned* barrier) {
    __syncthreads();
    if (threadIdx.x == 0) {
        auto* const generation = static_cast<volatile unsigned*>(barrier + 1);
        const unsigned old = *generation;
        __threadfence();
        if (atomicAdd(barrier, 1U) == gridDim.x - 1) {
            *static_cast<volatile unsigned*>(barrier) = 0;
            __threadfence();
            *generation = old + 1;
        } else {
            while (*generation == old) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

/// Writes this block's part of the counts: for some words, the sums of their fields over all blocks.
__device__ void add_up(const Layout& layout, const unsigned* partials, unsigned* spilled,
                       unsigned* counts) {
    __shared__ uint4 of_groups[threads];
    const unsigned column = threadIdx.x % columns;
    const unsigned group = threadIdx.x / columns;
    for (unsigned first = blockIdx.x * columns * 4; first < layout.words;
         first += gridDim.x * columns * 4) {
        const unsigned at = first + column * 4;
        uint4 sums[most_fields] = {};
        if (at < layout.words) {
#pragma unroll 3
            for (unsigned block = group; block < gridDim.x; block += groups) {
                const uint4 four =
                    __ldcg(reinterpret_cast<const uint4*>(partials + block * layout.words + at));
#pragma unroll
                for (unsigned f = 0; f < most_fields; ++f) {
                    if (f >= layout.fields) break;
                    sums[f].x += four.x >> f * layout.bits & layout.full;
                    sums[f].y += four.y >> f * layout.bits & layout.full;
                    sums[f].z += four.z >> f * layout.bits & layout.full;
                    sums[f].w += four.w >> f * layout.bits & layout.full;
                }
            }
        }
#pragma unroll
        for (unsigned f = 0; f < most_fields; ++f) {
            if (f >= layout.fields) break;
            of_groups[threadIdx.x] = sums[f];
            __syncthreads();
            // Now a thread for each word.
            const unsigned word = first + threadIdx.x;
            const unsigned bin = f * layout.words + word;
            if (threadIdx.x < columns * 4 && word < layout.words && bin < layout.bins) {
                unsigned sum = __ldcg(spilled + bin);
                if (sum != 0) spilled[bin] = 0;
                const auto* const of_words = reinterpret_cast<const unsigned*>(of_groups);
#pragma unroll
                for (unsigned g = 0; g < groups; ++g)
                    sum += of_words[g * columns * 4 + threadIdx.x];
                counts[bin] = sum;
            }
            __syncthreads();
        }
    }
}

/// The block's sum, in every thread.
__device__ unsigned sum_over_block(unsigned value) {
    __shared__ unsigned of_warps[threads / 32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(full_warp, value, offset);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    unsigned sum = 0;
#pragma unroll
    for (unsigned w = 0; w < threads / 32; ++w)
        sum += of_warps[w];
    return sum;
}

__device__ unsigned sum_of_fields(const Layout& layout, const uint4& words) {
    unsigned sum = 0;
    for (unsigned f = 0; f < layout.fields; ++f) {
        const unsigned shift = f * layout.bits;
        sum += (words.x >> shift & layout.full) + (words.y >> shift & layout.full) +
               (words.z >> shift & layout.full) + (words.w >> shift & layout.full);
    }
    return sum;
}

/// The values of a block, as vectors.
struct Share {
    const uint4* __restrict__ values;
    unsigned long long vectors;  ///< Of all blocks.

    /// Vector `index` of this thread; past the end it has no bins.
    __device__ uint4 operator[](unsigned long long index) const {
        const unsigned long long at = (index * gridDim.x + blockIdx.x) * threads + threadIdx.x;
        return at < vectors ? __ldcs(values + at) : make_uint4(ignored, ignored, ignored, ignored);
    }
    /// For each thread of every block, the same.
    __device__ unsigned long long per_thread() const {
        const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
        return (vectors + step - 1) / step;
    }
};

__device__ void clear(const Layout& layout, unsigned* words) {
    for (unsigned i = threadIdx.x; i < layout.words / 4; i += threads)
        reinterpret_cast<uint4*>(words)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
}

/// Counts vectors first … last of the share without looking; returns this thread's number of values
/// that have a bin.
__device__ unsigned count(const Layout& layout, unsigned* words, const Share& share,
                          unsigned long long first, unsigned long long last) {
    unsigned counted = 0;
    for (unsigned long long i = first; i < last; i += loads) {
        uint4 loaded[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            loaded[j] = i + j < last ? share[i + j] : make_uint4(ignored, ignored, ignored, ignored);
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) {
            const unsigned values[4] = {loaded[j].x, loaded[j].y, loaded[j].z, loaded[j].w};
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) {
                if (values[e] >= layout.bins) continue;
                const Place place(layout, values[e]);
                atomicAdd(words + place.word, 1U << place.shift);
                ++counted;
            }
        }
    }
    return counted;
}

/// The same for any values: what doesn't fit into the fields is counted in the workspace.
__device__ void count_safely(const Layout& layout, unsigned* words, unsigned* spilled,
                             const Share& share, unsigned long long first,
                             unsigned long long last) {
    for (unsigned long long i = first; i < last; i += slow_loads) {
        unsigned values[values_per_round];
#pragma unroll
        for (unsigned j = 0; j < slow_loads; ++j) {
            const uint4 loaded =
                i + j < last ? share[i + j] : make_uint4(ignored, ignored, ignored, ignored);
            values[4 * j] = loaded.x;
            values[4 * j + 1] = loaded.y;
            values[4 * j + 2] = loaded.z;
            values[4 * j + 3] = loaded.w;
        }
        count_round(layout, words, spilled, values);
    }
    __syncthreads();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    histogram_packed(const unsigned* __restrict__ values, unsigned* counts, unsigned* workspace,
                     unsigned long long n, unsigned bins) {
    extern __shared__ __align__(16) unsigned words[];
    unsigned bytes = 0;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    const Layout layout(bins, bytes / 4);
    unsigned* const spilled = workspace + barrier_words;
    unsigned* const partials = spilled + (bins + 3) / 4 * 4;
    const bool is_aligned = reinterpret_cast<unsigned long long>(values) % 16 == 0;
    const Share share{reinterpret_cast<const uint4*>(values), is_aligned ? n / 4 : 0};
    clear(layout, words);

    // A part of the share gives a field a quarter of its range on average, if bins are equally
    // frequent: then overflows are rare, and between parts the fields move to the workspace. A part
    // has fewer than 2^32 values.
    constexpr unsigned long long most_vectors = 1U << 19;
    const unsigned long long of_part =
        min(static_cast<unsigned long long>(layout.half) * bins / 2 / (4 * threads) + loads,
            most_vectors);
    const unsigned long long per_thread = share.per_thread();
    for (unsigned long long first = 0; first < per_thread; first += of_part) {
        const unsigned long long last = min(first + of_part, per_thread);
        const bool is_last = last == per_thread;
        const unsigned counted = sum_over_block(count(layout, words, share, first, last));
        auto* const own = reinterpret_cast<uint4*>(partials + blockIdx.x * layout.words);
        const auto* const wide = reinterpret_cast<const uint4*>(words);
        unsigned sum = 0;
        for (unsigned i = threadIdx.x; i < layout.words / 4; i += threads) {
            const uint4 four = wide[i];
            sum += sum_of_fields(layout, four);
            if (is_last) __stcg(own + i, four);
        }
        const bool is_right = sum_over_block(sum) == counted;
        if (is_right && is_last) break;
        if (!is_right) {
            clear(layout, words);
            count_safely(layout, words, spilled, share, first, last);
        }
        for (unsigned i = threadIdx.x; i < layout.words; i += threads) {
            const unsigned word = words[i];
            if (is_last) {
                __stcg(reinterpret_cast<unsigned*>(own) + i, word);
                continue;
            }
            for (unsigned f = 0; f < layout.fields; ++f) {
                const unsigned field = word >> f * layout.bits & layout.full;
                if (field != 0) atomicAdd(spilled + f * layout.words + i, field);
            }
        }
        __syncthreads();
        if (!is_last) clear(layout, words);
    }
    if (per_thread == 0) {
        for (unsigned i = threadIdx.x; i < layout.words; i += threads)
            __stcg(partials + blockIdx.x * layout.words + i, 0U);
    }
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    for (unsigned long long i = share.vectors * 4 +
                                blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
         i < n; i += step) {
        if (values[i] < bins) atomicAdd(spilled + values[i], 1U);
    }
    sync_grid(workspace);
    add_up(layout, partials, spilled, counts);
}
