// Counts the occurrences of each of 0 … bins - 1 for more bins than shared memory has words; other
// values are ignored. A cooperative launch with one block for each multiprocessor.
//
// Each block has counters for all bins in its shared memory, several to a word: up to eight fields
// of four bits. The blocks write their words to the workspace, and after a barrier of the grid they
// add up the fields of all.
//
// A counter must not overflow into its neighbour, whatever the values are. Blocks count in rounds.
// An atomic addition returns the field before it, and the first addition that overflows in a round
// is certain to see a full field: until then all fields are right. If a thread of the block has seen
// one, all threads take back their additions of the round, which restores every word whatever
// happened in between, and count the round's values in the workspace instead. A field that reaches
// half its range moves that half to the workspace after its round.
//
// Workspace: a barrier of two words and two unused ones, a word for each bin in which the counts of
// full fields meet, both zero between launches, and the words of the blocks. Dynamic shared memory:
// the words of a block, a multiple of four, at least bins / 8.
namespace {

constexpr unsigned threads = 1024;
constexpr unsigned loads = 2;  // Of 16 bytes, for each thread in a round.
constexpr unsigned values_per_round = 4 * loads;
constexpr unsigned most_fields = 8;
constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned ignored = 0xffffffffU;  // Not a bin.
constexpr unsigned barrier_words = 4;
constexpr unsigned columns = 128;  // Words that a block adds up at a time.
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
    __shared__ unsigned of_groups[threads];
    const unsigned column = threadIdx.x % columns;
    const unsigned group = threadIdx.x / columns;
    for (unsigned first = blockIdx.x * columns; first < layout.words;
         first += gridDim.x * columns) {
        const unsigned at = first + column;
        unsigned sums[most_fields] = {};
        if (at < layout.words) {
#pragma unroll 8
            for (unsigned block = group; block < gridDim.x; block += groups) {
                const unsigned word = __ldcg(partials + block * layout.words + at);
#pragma unroll
                for (unsigned f = 0; f < most_fields; ++f) {
                    if (f < layout.fields) sums[f] += word >> f * layout.bits & layout.full;
                }
            }
        }
#pragma unroll
        for (unsigned f = 0; f < most_fields; ++f) {
            if (f >= layout.fields) break;
            of_groups[threadIdx.x] = sums[f];
            __syncthreads();
            const unsigned bin = f * layout.words + at;
            if (group == f % groups && at < layout.words && bin < layout.bins) {
                unsigned sum = __ldcg(spilled + bin);
                if (sum != 0) spilled[bin] = 0;
#pragma unroll
                for (unsigned g = 0; g < groups; ++g)
                    sum += of_groups[g * columns + column];
                counts[bin] = sum;
            }
            __syncthreads();
        }
    }
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
    auto* const wide_words = reinterpret_cast<uint4*>(words);
    for (unsigned i = threadIdx.x; i < layout.words / 4; i += threads)
        wide_words[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const unsigned long long vectors =
        reinterpret_cast<unsigned long long>(values) % 16 == 0 ? n / 4 : 0;
    const auto* const wide = reinterpret_cast<const uint4*>(values);
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    const unsigned long long thread =
        blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
    const unsigned long long rounds = (vectors + step * loads - 1) / (step * loads);
    const auto load = [&](unsigned long long round, uint4(&to)[loads]) {
#pragma unroll
        for (unsigned i = 0; i < loads; ++i) {
            const unsigned long long at = (round * loads + i) * step + thread;
            to[i] = at < vectors ? __ldcs(wide + at)
                                 : make_uint4(ignored, ignored, ignored, ignored);
        }
    };
    uint4 next[loads];
    load(0, next);
    for (unsigned long long round = 0; round < rounds; ++round) {
        unsigned of_round[values_per_round];
#pragma unroll
        for (unsigned i = 0; i < loads; ++i) {
            of_round[4 * i] = next[i].x;
            of_round[4 * i + 1] = next[i].y;
            of_round[4 * i + 2] = next[i].z;
            of_round[4 * i + 3] = next[i].w;
        }
        load(round + 1, next);
        count_round(layout, words, spilled, of_round);
    }
    for (unsigned long long i = vectors * 4 + thread; i < n; i += step) {
        if (values[i] < bins) atomicAdd(spilled + values[i], 1U);
    }
    __syncthreads();
    auto* const own = reinterpret_cast<uint4*>(partials + blockIdx.x * layout.words);
    for (unsigned i = threadIdx.x; i < layout.words / 4; i += threads)
        __stcg(own + i, wide_words[i]);
    sync_grid(workspace);
    add_up(layout, partials, spilled, counts);
}
