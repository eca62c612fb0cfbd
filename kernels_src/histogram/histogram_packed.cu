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
constexpr unsigned loads = 3;       // 16 bytes each, for a thread at a time, twice in flight.
constexpr unsigned slow_loads = 2;  // In a round.
constexpr unsigned values_per_round = 4 * slow_loads;
constexpr unsigned most_fields = 8;
constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned ignored = 0xffffffffU;  // Not a bin.
constexpr unsigned barrier_words = 4;
constexpr unsigned columns = 32;  // Four words each, which a block adds up at a time.
constexpr unsigned groups = threads / columns;

/// Where the counters of the bins are: bin = word · fields + field.
struct Layout {
    unsigned bins;
    unsigned words;
    unsigned fields;
    unsigned bits;
    unsigned full;  ///< A field with all bits set.
    unsigned half;
    unsigned reciprocal;  ///< The reciprocal of the fields: exact for less than 2^28 bins.

    __device__ Layout(unsigned bin_count, unsigned word_count)
        : bins(bin_count),
          words(word_count),
          fields((bin_count + word_count - 1) / word_count),
          bits(32 / fields),
          full(fields == 1 ? 0xffffffffU : (1U << bits) - 1),
          half(1U << (bits - 1)),
          reciprocal(0xffffffffU / fields + 1) {}
};

struct Place {
    unsigned word;
    unsigned shift;

    __device__ Place(const Layout& layout, unsigned bin)
        : word(layout.fields == 1 ? bin : __umulhi(bin, layout.reciprocal)),
          shift((bin - word * layout.fields) * layout.bits) {}
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

/// A barrier of all blocks of the grid; of thread 0.
class GridBarrier {
public:
    __device__ explicit GridBarrier(unsigned* words) : words_(words) {
        if (threadIdx.x == 0) old_ = *static_cast<volatile unsigned*>(words_ + 1);
    }

    /// Waits, and sees what all blocks have written.
    __device__ void sync() {
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned arrived = 0;
            asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                         : "=r"(arrived)
                         : "l"(words_)
                         : "memory");
            if (arrived == gridDim.x - 1) {
                *static_cast<volatile unsigned*>(words_) = 0;
                asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(words_ + 1), "r"(old_ + 1)
                             : "memory");
            } else {
                unsigned now = old_;
                while (now == old_)
                    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                                 : "=r"(now)
                                 : "l"(words_ + 1)
                                 : "memory");
            }
        }
        __syncthreads();
    }

private:
    unsigned* words_;
    unsigned old_ = 0;
};

__device__ unsigned sum_of_fields(const Layout& layout, const uint4& words) {
    if (layout.bits == 8) {
        constexpr unsigned ones = 0x01010101U;
        return __dp4a(words.x, ones, __dp4a(words.y, ones, 0U)) +
               __dp4a(words.z, ones, __dp4a(words.w, ones, 0U));
    }
    unsigned sum = 0;
#pragma unroll
    for (unsigned f = 0; f < most_fields; ++f) {
        if (f >= layout.fields) break;
        const unsigned shift = f * layout.bits;
        sum += (words.x >> shift & layout.full) + (words.y >> shift & layout.full) +
               (words.z >> shift & layout.full) + (words.w >> shift & layout.full);
    }
    return sum;
}

/// Adds the fields of four words of the blocks in this thread's group: every `groups`-th one.
__device__ void add_group(uint4 (&sums)[most_fields], const Layout& layout,
                          const unsigned* partials, unsigned at) {
    constexpr unsigned in_flight = 4;
    for (unsigned block = threadIdx.x / columns; block < gridDim.x; block += in_flight * groups) {
        uint4 loaded[in_flight] = {};
#pragma unroll
        for (unsigned i = 0; i < in_flight; ++i) {
            const unsigned from = block + i * groups;
            if (from < gridDim.x)
                loaded[i] =
                    __ldcg(reinterpret_cast<const uint4*>(partials + from * layout.words + at));
        }
#pragma unroll
        for (unsigned f = 0; f < most_fields; ++f) {
            if (f >= layout.fields) break;
#pragma unroll
            for (unsigned i = 0; i < in_flight; ++i) {
                sums[f].x += loaded[i].x >> f * layout.bits & layout.full;
                sums[f].y += loaded[i].y >> f * layout.bits & layout.full;
                sums[f].z += loaded[i].z >> f * layout.bits & layout.full;
                sums[f].w += loaded[i].w >> f * layout.bits & layout.full;
            }
        }
    }
}

/// Writes this block's part of the counts: for some words, the sums of their fields over all blocks.
__device__ void add_up(const Layout& layout, const unsigned* partials, unsigned* spilled,
                       unsigned* counts) {
    __shared__ uint4 of_groups[threads];
    for (unsigned first = blockIdx.x * columns * 4; first < layout.words;
         first += gridDim.x * columns * 4) {
        // In the end, a thread has a word.
        const unsigned word = first + threadIdx.x;
        const bool has_word = threadIdx.x < columns * 4 && word < layout.words;
        unsigned totals[most_fields] = {};
        const unsigned bin = word * layout.fields;
        const unsigned own = !has_word || bin >= layout.bins ? 0 : min(layout.fields, layout.bins - bin);
#pragma unroll
        for (unsigned f = 0; f < most_fields; ++f) {
            if (f < own) totals[f] = __ldcg(spilled + bin + f);
        }
        const unsigned at = first + threadIdx.x % columns * 4;
        uint4 sums[most_fields] = {};
        if (at < layout.words) add_group(sums, layout, partials, at);
#pragma unroll
        for (unsigned f = 0; f < most_fields; ++f) {
            if (f >= layout.fields) break;
            of_groups[threadIdx.x] = sums[f];
            __syncthreads();
            if (f < own) {
                if (totals[f] != 0) spilled[bin + f] = 0;
                const auto* const of_words = reinterpret_cast<const unsigned*>(of_groups);
#pragma unroll
                for (unsigned g = 0; g < groups; ++g)
                    totals[f] += of_words[g * columns * 4 + threadIdx.x];
                counts[bin + f] = totals[f];
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

/// Reads what isn't read again.
__device__ uint4 load_once(const uint4* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
#else
    return __ldcs(from);
#endif
}

/// The values of a block, as vectors.
struct Share {
    const uint4* values;
    unsigned long long vectors;  ///< Vectors of all blocks.

    /// Vector `index` of this thread; past the end it has no bins.
    __device__ uint4 operator[](unsigned long long index) const {
        const unsigned long long at = (index * gridDim.x + blockIdx.x) * threads + threadIdx.x;
        return at < vectors ? load_once(values + at)
                            : make_uint4(ignored, ignored, ignored, ignored);
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

/// Clears the words and counts vectors first … last of the share without looking; returns this
/// thread's number of values that have a bin.
__device__ unsigned count(const Layout& layout, unsigned* words, const Share& share,
                          unsigned long long first, unsigned long long last) {
    const unsigned any_word = min(threadIdx.x % 32, layout.words - 1);
    unsigned counted = 0;
    const auto count_vector = [&](const uint4& vector) {
        const unsigned values[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
        for (unsigned e = 0; e < 4; ++e) {
            // Without a branch: a value without a bin adds nothing to some word.
            const Place place(layout, values[e]);
            const bool has_bin = values[e] < layout.bins;
            atomicAdd(words + (has_bin ? place.word : any_word),
                      has_bin ? 1U << place.shift : 0U);
            counted += has_bin ? 1 : 0;
        }
    };
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    const unsigned long long whole = min(last, share.vectors / step);
    unsigned long long i = first;
    const uint4* at =
        share.values + first * step + blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
    // The next vectors are on their way while these are counted.
    uint4 next[loads];
    const auto load_next = [&] {
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            next[j] = load_once(at + j * step);
        at += loads * step;
    };
    if (i + loads <= whole) load_next();
    clear(layout, words);
    for (; i + loads <= whole; i += loads) {
        uint4 loaded[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            loaded[j] = next[j];
        if (i + 2 * loads <= whole) load_next();
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            count_vector(loaded[j]);
    }
    for (; i < last; ++i)
        count_vector(share[i]);
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
    GridBarrier barrier(workspace);

    // A part of the share gives a field a quarter of its range on average, or half of a wide one, if
    // bins are equally frequent: then overflows are rare, and between parts the fields move to the
    // workspace. A part has fewer than 2^32 values.
    constexpr unsigned long long most_vectors = 1U << 19;
    const unsigned long long per_field = layout.bits >= 8 ? layout.half : layout.half / 2;
    const unsigned long long of_part = min(per_field * bins / (4 * threads) + loads, most_vectors);
    const unsigned long long per_thread = share.per_thread();
    for (unsigned long long first = 0; first < per_thread; first += of_part) {
        const unsigned long long last = min(first + of_part, per_thread);
        const bool is_last = last == per_thread;
        unsigned missing = count(layout, words, share, first, last);
        __syncthreads();
        auto* const own = reinterpret_cast<uint4*>(partials + blockIdx.x * layout.words);
        const auto* const wide = reinterpret_cast<const uint4*>(words);
        for (unsigned i = threadIdx.x; i < layout.words / 4; i += threads) {
            const uint4 four = wide[i];
            missing -= sum_of_fields(layout, four);
            if (is_last) __stcg(own + i, four);
        }
        const bool is_right = sum_over_block(missing) == 0;
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
                if (field != 0) atomicAdd(spilled + i * layout.fields + f, field);
            }
        }
        __syncthreads();
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
    barrier.sync();
    add_up(layout, partials, spilled, counts);
}
