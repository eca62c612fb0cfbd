// Selection in one pass by persistent blocks that rarely wait for other tiles (9.0), as the scan's
// bulk_copy row: a block publishes the number of a tile's selected elements as soon as the tile has
// arrived, and writes them one step later. It then needs the numbers of the tiles between its last
// tile and this one, which other blocks published a whole step earlier; no chain of tiles waits for
// prefixes.
//
// Blocks take tiles in ticket order, and publish in that order before they wait: every awaited tile
// belongs to a running block, however many blocks run. Dynamic shared memory: stages · tile elements.
#include "select.cuh"

namespace {

constexpr unsigned stages = 3;  // One to write, one to compact, one being copied.
constexpr unsigned tile_bytes = tile * sizeof(Element);

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
__device__ void load_tile(unsigned to, const Element* from, unsigned barrier) {
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

/// Whether tile `t` lies entirely inside and the input allows bulk copies.
__device__ bool is_whole(const Element* from, unsigned t, unsigned long long n) {
    return (static_cast<unsigned long long>(t) + 1) * tile <= n &&
           reinterpret_cast<unsigned long long>(from) % 16 == 0;
}

/// A tile whose number is published and whose elements aren't written yet.
struct Pending {
    bool exists = false;
    unsigned tile = 0;
    unsigned count = 0;        ///< Selected elements of this warp's share,
    unsigned of_tile = 0;      ///< of the whole tile,
    unsigned before_warp = 0;  ///< and of the tile before this warp's share.
};

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    select_bulk(const Element* __restrict__ from, Element* __restrict__ to, unsigned* selected,
                unsigned long long* state, unsigned long long n) {
    extern __shared__ __align__(128) unsigned char raw[];
    __shared__ __align__(8) unsigned long long full[stages];
    __shared__ Ticket tickets[stages];
    __shared__ unsigned of_warps[2][32];
    __shared__ word between[2][32];
    auto* const ring = reinterpret_cast<Element*>(raw);
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned tile_count = static_cast<unsigned>((n + tile - 1) / tile);
    word* const blocks_done = state + 1;
    word* const words = state + first_word;

    // A tile that can't be bulk-copied is loaded when it is processed. Tickets are taken one at a
    // time: a block with adjacent tiles would publish the last of them after writing the first, and
    // every block would wait for the one before it.
    const auto fill = [&](unsigned stage) {
        tickets[stage] = take_ticket(state);
        const unsigned t = tickets[stage].number;
        const unsigned barrier = shared_address(&full[stage]);
        if (t < tile_count && is_whole(from, t, n))
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
    word known = 0;           // The selected elements before tile `first_open`.
    unsigned first_open = 0;  // The first tile not included in `known`.
    for (unsigned step = 0;; ++step) {
        // Requests what the pending tile needs; it is used after the next tile's compaction.
        unsigned open = first_open + threadIdx.x;
        const bool asks = pending.exists && open < pending.tile;
        word packed = asks ? peek(words + open) : 0;

        const unsigned stage = step % stages;
        const unsigned side = step % 2;
        wait(shared_address(&full[stage]), step / stages & 1U);
        const unsigned t = tickets[stage].number;
        const bool exists = t < tile_count;
        Element* const staged = ring + stage * tile + warp * share;
        const unsigned long long start = 1ULL * t * tile + warp * share;
        unsigned count = 0;
        if (exists) {
            const unsigned valid = valid_of(start, n);
            const bool copied = is_whole(from, t, n);
            Element elements[items];
#pragma unroll
            for (unsigned i = 0; i < items; ++i) {
                const unsigned at = place_of<1>(i);
                elements[i] = copied ? staged[at] : at < valid ? from[start + at] : Element{};
            }
            count = compact<1>(elements, valid, staged);
        }
        if (lane == 0) of_warps[side][warp] = count;
        // Each thread orders its writes to the stage before the copy that will fill it.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        // All warps have finished the previous step, and with it the tile that it completed.
        if (exists && step > 1 && threadIdx.x == threads - 1) fill((step - 2) % stages);
        const unsigned of_warp = lane < warps ? of_warps[side][lane] : 0U;
        const unsigned of_tile = __reduce_add_sync(full_warp, of_warp);
        const unsigned before_warp = __reduce_add_sync(full_warp, lane < warp ? of_warp : 0U);
        if (exists && threadIdx.x == 0) publish(words + t, of_tile, epoch, aggregate);

        if (pending.exists) {
            word sum_between = 0;
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
            sum_between = sum_over_warp(sum_between);
            if (lane == 0) between[side][warp] = sum_between;
            __syncthreads();
            const word before =
                known + sum_over_warp(lane < warps ? between[side][lane] : word{0});
            known = before + pending.of_tile;
            first_open = pending.tile + 1;
            const unsigned long long first = 1ULL * pending.tile * tile + warp * share;
            write_share(ring + (step - 1) % stages * tile + warp * share, to, pending.count,
                        valid_of(first, n), first, before + pending.before_warp, n);
            if (pending.tile == tile_count - 1 && threadIdx.x == 0)
                *selected = static_cast<unsigned>(known);
        }
        if (!exists) break;
        pending = {true, t, count, of_tile, before_warp};
    }
    if (threadIdx.x == 0) {
        // Orders this block's last ticket before the reset of the last block.
        __threadfence();
        if (atomicAdd(blocks_done, 1ULL) == gridDim.x - 1) {
            __threadfence();
            start_next_epoch(state, epoch);
            atomicExch(blocks_done, 0ULL);
        }
    }
}
