// Inclusive prefix sums in one pass, by persistent blocks that rarely wait for other tiles (9.0).
//
// Bulk copies fill a ring of tiles in shared memory. A block publishes the sum of a tile as soon as
// the tile has arrived, and finishes the tile one step later. It then needs the sums of the tiles
// between its last tile and this one, which other blocks published a whole step earlier. It already
// knows the sum of everything before its last tile, so no block publishes prefixes and no chain of
// tiles waits for prefixes.
//
// Blocks take tiles in ticket order, and publish in that order before they wait: every awaited tile
// belongs to a running block, however many blocks run. A block for each multiprocessor is enough:
// two with tiles of half the size are slower. Dynamic shared memory: stages tiles.
#include "scan.cuh"

namespace {

constexpr unsigned threads = 512;
constexpr unsigned warps = threads / 32;
constexpr unsigned rows = 8;  // Rows of each warp in a tile.
constexpr unsigned tile = warps * rows * row_size;
constexpr unsigned stages = 3;  // One to finish, one to sum, one being copied.

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
__device__ void load_tile(unsigned to, const element* from, unsigned barrier) {
    constexpr unsigned bytes = tile * sizeof(element);
    unsigned long long policy = 0;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], %4;"
        :
        : "r"(to), "l"(from), "n"(bytes), "r"(barrier), "l"(policy)
        : "memory");
}

/// A tile whose sum is published and whose prefix sums aren't written yet.
struct Pending {
    bool exists = false;
    unsigned tile = 0;
    element sum = identity();
    element before_warp = identity();  ///< The sum of the tile's elements before this warp's.
};

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    scan_bulk(const element* __restrict__ from, element* __restrict__ to, unsigned long long* state,
              unsigned long long n) {
    extern __shared__ __align__(128) unsigned char dynamic[];
    auto* const ring = reinterpret_cast<element*>(dynamic);
    __shared__ __align__(8) unsigned long long full[stages];
    __shared__ Ticket tickets[stages];
    __shared__ element of_warps[2][warps];
    __shared__ element between[2][warps];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned share = warp * rows * row_size + lane * width;  // This lane's place in a tile.
    const unsigned tile_count = static_cast<unsigned>((n + tile - 1) / tile);

    // A tile that can't be bulk-copied is loaded when it is processed. Tickets are taken one at a
    // time: a block with adjacent tiles would publish the last of them after finishing the first,
    // and every block would wait for the one before it.
    const auto fill = [&](unsigned stage) {
        const Ticket ticket = take_ticket(state);
        const unsigned t = ticket.number;
        const unsigned barrier = shared_address(&full[stage]);
        tickets[stage] = ticket;
        if (t < tile_count && is_whole(from, to, t, tile, n))
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
    const unsigned epoch = tickets[0].epoch;

    Pending pending;
    element known = identity();        // The sum of all elements before tile `first_open`.
    unsigned first_open = 0;  // The first tile not included in `known`.
    for (unsigned step = 0;; ++step) {
        // Requests what the pending tile needs; it is used after the next tile's sum.
        unsigned open = first_open + threadIdx.x;
        const bool asks = pending.exists && open < pending.tile;
        Published found{aggregate, identity()};
        if (asks) found = peek(state, open, epoch);

        const unsigned stage = step % stages;
        const unsigned side = step % 2;
        wait(shared_address(&full[stage]), step / stages & 1U);
        const unsigned t = tickets[stage].number;
        const bool exists = t < tile_count;
        element* const staged = ring + stage * tile + share;
        element sum = identity();
        if (exists) {
            if (!is_whole(from, to, t, tile, n)) {
                for (unsigned r = 0; r < rows; ++r) {
                    *reinterpret_cast<Vector*>(staged + r * row_size) =
                        load_slowly(from, 1ULL * t * tile + share + r * row_size, n);
                }
            }
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                const Vector vector = *reinterpret_cast<const Vector*>(staged + r * row_size);
                element of_vector = vector.e[0];
#pragma unroll
                for (unsigned i = 1; i < width; ++i)
                    fold(of_vector, vector.e[i]);
                fold(sum, of_vector);
            }
        }
        sum = warp_sum(sum);
        if (lane == 0) of_warps[side][warp] = sum;
        __syncthreads();
        // All warps have finished the previous step, and with it the tile that it completed.
        if (exists && step > 1 && threadIdx.x == threads - 1) fill((step - 2) % stages);
        const element of_warp = lane < warps ? of_warps[side][lane] : identity();
        const element of_tile = warp_sum(of_warp);
        const element before_warp = warp_sum(lane < warp ? of_warp : identity());
        if (exists && threadIdx.x == 0) publish(state, t, of_tile, epoch, aggregate);

        if (pending.exists) {
            if (found.flag == not_yet) found = await(state, open, epoch);
            element sum_between = found.value;
            for (open += threads; open < pending.tile; open += threads)
                fold(sum_between, await(state, open, epoch).value);
            sum_between = warp_sum(sum_between);
            if (lane == 0) between[side][warp] = sum_between;
            __syncthreads();
            const element before =
                combine(known, warp_sum(lane < warps ? between[side][lane] : identity()));
            known = combine(before, pending.sum);
            first_open = pending.tile + 1;

            const element* const finished = ring + (step - 1) % stages * tile + share;
            const unsigned long long first = 1ULL * pending.tile * tile + share;
            const bool whole = is_whole(from, to, pending.tile, tile, n);
            element carry = combine(before, pending.before_warp);
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                Vector vector = *reinterpret_cast<const Vector*>(finished + r * row_size);
                fold(carry, scan_row(vector, carry));
                const unsigned long long at = first + r * row_size;
                if (whole)
                    store_streaming(to + at, vector);
                else
                    store_slowly(to, at, n, vector);
            }
        }
        if (!exists) break;
        pending = {true, t, of_tile, before_warp};
    }
    if (threadIdx.x == 0) {
        // Orders this block's last ticket before the reset of the last block.
        __threadfence();
        auto* const blocks_done = state + 1;
        if (atomicAdd(blocks_done, 1ULL) == gridDim.x - 1) {
            __threadfence();
            *blocks_done = 0;
            start_next_epoch(state, epoch);
        }
    }
}
