// Inclusive prefix sums of unsigned integers modulo 2^32 in one pass, by persistent blocks that
// rarely wait for other tiles (9.0).
//
// Bulk copies fill a ring of tiles in shared memory. A block publishes the sum of a tile as soon as
// the tile has arrived, and finishes the tile one step later. It then needs the sums of the tiles
// between its last tile and this one, which other blocks published a whole step earlier. It already
// knows the sum of everything before its last tile, so no block publishes prefixes and no chain of
// tiles waits for prefixes.
//
// Blocks take tiles in ticket order, and publish in that order before they wait: every awaited tile
// belongs to a running block, however many blocks run. Dynamic shared memory: stages · tile words.
#include "scan.cuh"

namespace {

constexpr unsigned stages = 3;  // One to finish, one to sum, one being copied.
constexpr unsigned tile_bytes = tile * 4;

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void wait(unsigned barrier, unsigned parity) {
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

/// Copies a tile that is read once: the L2 cache may evict it first.
__device__ void load_tile(unsigned to, const unsigned* from, unsigned barrier) {
    unsigned long long policy = 0;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "n"(tile_bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], %4;"
        :
        : "r"(to), "l"(from), "n"(tile_bytes), "r"(barrier), "l"(policy)
        : "memory");
}

/// A tile whose sum is published and whose prefix sums aren't written yet.
struct Pending {
    bool exists = false;
    unsigned tile = 0;
    unsigned sum = 0;
    unsigned before_warp = 0;  ///< The sum of the tile's elements before this warp's.
};

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    scan_bulk(const unsigned* __restrict__ from, unsigned* __restrict__ to,
              unsigned long long* state, unsigned epoch, unsigned long long n) {
    extern __shared__ __align__(128) unsigned ring[];
    __shared__ __align__(8) unsigned long long full[stages];
    __shared__ unsigned tickets[stages];
    __shared__ unsigned of_warps[2][warps];
    __shared__ unsigned between[2][warps];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned share = warp * rows * row_size + lane * 4;  // This lane's position in a tile.
    const unsigned tile_count = static_cast<unsigned>((n + tile - 1) / tile);
    auto* const ticket = reinterpret_cast<unsigned*>(state);
    unsigned* const blocks_done = ticket + 1;
    word* const words = state + 1;

    // A tile that can't be bulk-copied is loaded when it is processed. Tickets are taken one at a
    // time: a block with adjacent tiles would publish the last of them after finishing the first,
    // and every block would wait for the one before it.
    const auto fill = [&](unsigned stage) {
        const unsigned t = atomicAdd(ticket, 1U);
        const unsigned barrier = shared_address(&full[stage]);
        tickets[stage] = t;
        if (t < tile_count && is_whole(from, to, t, n))
            load_tile(shared_address(ring + stage * tile), from + 1ULL * t * tile, barrier);
        else
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
    };
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < stages; ++s)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s]))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (unsigned s = 0; s < stages; ++s)
            fill(s);
    }
    __syncthreads();

    Pending pending;
    unsigned known = 0;       // The sum of all elements before tile `first_open`.
    unsigned first_open = 0;  // The first tile not included in `known`.
    for (unsigned step = 0;; ++step) {
        // Requests what the pending tile needs; it is used after the next tile's sum.
        unsigned open = first_open + threadIdx.x;
        const bool asks = pending.exists && open < pending.tile;
        word packed = asks ? peek(words + open) : 0;

        const unsigned stage = step % stages;
        const unsigned side = step % 2;
        wait(shared_address(&full[stage]), step / stages & 1U);
        const unsigned t = tickets[stage];
        const bool exists = t < tile_count;
        unsigned* const staged = ring + stage * tile + share;
        unsigned sum = 0;
        if (exists) {
            if (!is_whole(from, to, t, n)) {
                for (unsigned r = 0; r < rows; ++r) {
                    for (unsigned e = 0; e < 4; ++e) {
                        const unsigned long long at = 1ULL * t * tile + share + r * row_size + e;
                        staged[r * row_size + e] = at < n ? from[at] : 0U;
                    }
                }
            }
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                const uint4 four = *reinterpret_cast<const uint4*>(staged + r * row_size);
                sum += four.x + four.y + four.z + four.w;
            }
        }
        sum = __reduce_add_sync(full_warp, sum);
        if (lane == 0) of_warps[side][warp] = sum;
        __syncthreads();
        // All warps have finished the previous step, and with it the tile that it completed.
        if (exists && step > 1 && threadIdx.x == threads - 1) fill((step - 2) % stages);
        const unsigned of_warp = lane < warps ? of_warps[side][lane] : 0U;
        const unsigned of_tile = __reduce_add_sync(full_warp, of_warp);
        const unsigned before_warp = __reduce_add_sync(full_warp, lane < warp ? of_warp : 0U);
        if (exists && threadIdx.x == 0) publish(words + t, of_tile, epoch, aggregate);

        if (pending.exists) {
            unsigned sum_between = 0;
            if (asks) {
                while (flag_of(packed, epoch) == not_yet)
                    packed = peek(words + open);
                sum_between = value_of(packed);
            }
            for (open += threads; open < pending.tile; open += threads) {
                do {
                    packed = peek(words + open);
                } while (flag_of(packed, epoch) == not_yet);
                sum_between += value_of(packed);
            }
            sum_between = __reduce_add_sync(full_warp, sum_between);
            if (lane == 0) between[side][warp] = sum_between;
            __syncthreads();
            const unsigned before =
                known + __reduce_add_sync(full_warp, lane < warps ? between[side][lane] : 0U);
            known = before + pending.sum;
            first_open = pending.tile + 1;

            const unsigned* const finished = ring + (step - 1) % stages * tile + share;
            const unsigned long long first = 1ULL * pending.tile * tile + share;
            const bool whole = is_whole(from, to, pending.tile, n);
            unsigned carry = before + pending.before_warp;
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                uint4 four = *reinterpret_cast<const uint4*>(finished + r * row_size);
                four.y += four.x;
                four.z += four.y;
                four.w += four.z;
                const unsigned inclusive = inclusive_over_warp(four.w);
                const unsigned base = carry + inclusive - four.w;
                four = make_uint4(four.x + base, four.y + base, four.z + base, four.w + base);
                const unsigned long long at = first + r * row_size;
                if (whole) {
                    __stcs(reinterpret_cast<uint4*>(to + at), four);
                } else {
                    const unsigned results[4] = {four.x, four.y, four.z, four.w};
                    for (unsigned e = 0; e < 4; ++e) {
                        if (at + e < n) to[at + e] = results[e];
                    }
                }
                carry += __shfl_sync(full_warp, inclusive, 31);
            }
        }
        if (!exists) break;
        pending = {true, t, of_tile, before_warp};
    }
    if (threadIdx.x == 0) {
        // Orders this block's last ticket before the reset of the last block.
        __threadfence();
        if (atomicAdd(blocks_done, 1U) == gridDim.x - 1) {
            __threadfence();
            *ticket = 0;
            *blocks_done = 0;
        }
    }
}
