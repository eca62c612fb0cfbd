// A pass by persistent blocks (9.0): bulk copies bring the next tile into shared memory while a
// block looks back and writes the last one. The keys stay in shared memory, which leaves room for
// larger tiles than registers do.
//
// Blocks take tiles in ticket order, publish in that order, and wait for earlier tiles alone: every
// awaited tile belongs to a running block that waits for none after it, however many blocks run.
#pragma once

#include "sort.cuh"

namespace {

__device__ inline unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n"
        :
        : "r"(barrier), "r"(parity)
        : "memory");
}

/// Copies what is read once: the L2 cache may evict it first.
__device__ inline void bulk_copy(void* to, const void* from, unsigned bytes, unsigned barrier) {
    unsigned long long policy = 0;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], %4;"
        :
        : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
}

/// What a block keeps in dynamic shared memory.
template <class T>
struct BulkShared {
    static constexpr unsigned values_size = T::has_values ? T::tile : 4;
    static constexpr unsigned sorted_size = T::has_values && !T::reuses ? T::tile : 4;
    alignas(16) typename T::Bits arrived[T::tile];
    alignas(16) typename T::Bits sorted[T::tile];
    alignas(16) unsigned arrived_values[values_size];
    unsigned sorted_values[sorted_size];
    typename T::Word base[digits];  // See Tiling::Shared.
    typename T::Counter counts[T::warps][digits];
    unsigned totals[digit_warps];
    typename T::Word word_totals[digit_warps];
    unsigned long long full;  // The barrier of the copies.
    unsigned tickets[2];
};

template <class T>
__device__ void sort_by_digit_bulk(const PassArguments<typename T::Bits, typename T::Word>& a,
                                   BulkShared<T>& shared) {
    using Bits = typename T::Bits;
    using Word = typename T::Word;
    using Keys = Order<typename T::Key>;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const bool first = a.pass == 0;
    const bool last = a.pass + 1 == a.passes;
    const unsigned barrier = shared_address(&shared.full);
    const unsigned tiles = static_cast<unsigned>((a.n + T::tile - 1) / T::tile);
    const bool aligned =
        (reinterpret_cast<unsigned long long>(a.from) |
         (T::has_values ? reinterpret_cast<unsigned long long>(a.from_values) : 0ULL)) %
            16 ==
        0;
    const auto is_copied = [&](unsigned t) {
        return aligned && (static_cast<unsigned long long>(t) + 1) * T::tile <= a.n;
    };
    // Takes a tile, and begins to copy it; one that can't be copied is loaded by the threads.
    const auto copy_keys = [&](unsigned t) {
        if (t >= tiles || !is_copied(t)) return;
        bulk_copy(shared.arrived, a.from + static_cast<unsigned long long>(t) * T::tile,
                  T::tile * sizeof(Bits), barrier);
    };
    const auto take = [&](unsigned slot) {
        const auto t = static_cast<unsigned>(atomicAdd(a.ticket, Word{1}));
        if (t == tiles + gridDim.x - 1) atomicExch(a.ticket, Word{0});  // Each block takes one more.
        shared.tickets[slot] = t;
        if (t < tiles && is_copied(t)) {
            constexpr unsigned key_bytes = T::tile * sizeof(Bits);
            constexpr unsigned value_bytes = T::has_values ? T::tile * 4 : 0;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "n"(key_bytes + value_bytes)
                         : "memory");
            if constexpr (!T::reuses) copy_keys(t);
            if constexpr (T::has_values)
                bulk_copy(shared.arrived_values,
                          a.from_values + static_cast<unsigned long long>(t) * T::tile, value_bytes,
                          barrier);
        } else {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
        }
    };
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        take(0);
        if constexpr (T::reuses) copy_keys(shared.tickets[0]);
    }
    __syncthreads();
    auto* const sorted_values =
        T::reuses ? reinterpret_cast<unsigned*>(shared.arrived) : shared.sorted_values;

    const Lane lanes(a.n);
    typename T::Counter* const counts = shared.counts[warp];
    const unsigned share = warp * T::items * 32 + lane;
    for (unsigned step = 0;; ++step) {
        const unsigned t = shared.tickets[step % 2];
        if (t >= tiles) return;
        const unsigned long long start = static_cast<unsigned long long>(t) * T::tile;
        const unsigned valid = a.n - start < T::tile ? static_cast<unsigned>(a.n - start) : T::tile;
        for (unsigned d = lane; d < digits; d += 32)
            counts[d] = 0;
        wait(barrier, step % 2);
        if (!is_copied(t)) {
            // Keys past the end are the largest: they come last.
            const Bits largest = first ? Keys::decode(~Bits{0}) : ~Bits{0};
            for (unsigned i = 0; i < T::items; ++i) {
                const unsigned at = share + i * 32;
                shared.arrived[at] = at < valid ? a.from[start + at] : largest;
                if constexpr (T::has_values)
                    shared.arrived_values[at] = at < valid ? a.from_values[start + at] : 0U;
            }
        }
        __syncwarp();

        // A lane has every 32nd of its warp's keys; two ranks share a register.
        unsigned ranks[T::items / 2];
#pragma unroll
        for (unsigned first_of = 0; first_of < T::items; first_of += T::group) {
            unsigned group[T::group];
            unsigned of_group[T::group];
#pragma unroll
            for (unsigned i = 0; i < T::group; ++i) {
                Bits key = shared.arrived[share + (first_of + i) * 32];
                if (first) key = Keys::encode(key);
                group[i] = digit_of(key, a.pass);
            }
            rank_group(group, of_group, counts, lanes);
#pragma unroll
            for (unsigned i = 0; i < T::group; ++i)
                set_rank(ranks, first_of + i, of_group[i]);
        }
        __syncthreads();
        const auto [count, exclusive] = place_digits<T>(
            shared.counts, shared.totals,
            t != 0 ? a.tiles + static_cast<unsigned long long>(t) * digits + threadIdx.x : nullptr);
#pragma unroll
        for (unsigned i = 0; i < T::items; ++i) {
            Bits key = shared.arrived[share + i * 32];
            if (first) key = Keys::encode(key);
            const unsigned before = counts[digit_of(key, a.pass)];
            const unsigned at = before + get_rank(ranks, i);
            shared.sorted[at] = key;
            if constexpr (T::reuses)
                ranks[i / 2] += before << (i % 2 * 16);
            else if constexpr (T::has_values)
                sorted_values[at] = shared.arrived_values[share + i * 32];
        }
        __syncthreads();
        if constexpr (T::reuses) {
#pragma unroll
            for (unsigned i = 0; i < T::items; ++i)
                sorted_values[get_rank(ranks, i)] = shared.arrived_values[share + i * 32];
            __syncthreads();
        }
        if (!T::late && threadIdx.x == T::threads - 1) take((step + 1) % 2);

        find_bases<T>(a, shared.base, shared.word_totals, t, count, exclusive);
        __syncthreads();
        if (T::late && threadIdx.x == T::threads - 1) take((step + 1) % 2);
#pragma unroll
        for (unsigned i = 0; i < T::items; ++i) {
            const unsigned at = threadIdx.x + i * T::threads;
            if (at < valid) {
                const Bits key = shared.sorted[at];
                const Word target = shared.base[digit_of(key, a.pass)] + at;
                a.to[target] = last ? Keys::decode(key) : key;
                if constexpr (T::has_values) a.to_values[target] = sorted_values[at];
            }
        }
        if constexpr (T::late && !T::reuses) __syncthreads();
        if constexpr (T::reuses) {
            // Orders this thread's writes to the keys' place before the copy's.
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncthreads();
            if (threadIdx.x == T::threads - 1) copy_keys(shared.tickets[(step + 1) % 2]);
        }
    }
}

}  // namespace
