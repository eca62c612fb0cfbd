// A histogram with more bins than one block's shared memory holds: each block of a cluster owns a
// part of the bins, reads all values of the cluster and counts those in its part (9.0a).
//
// Every block copies an eighth of a tile of values into the rings of all eight blocks at once
// (cp.async.bulk with multicast): memory and the L2 cache deliver each value once per cluster, and
// counts stay on their multiprocessor until the end. The compiler recommends multicast for 9.0a
// only.
//
// Counts must be zero before the launch. Dynamic shared memory: stages · tile + ceil(bins / cluster
// size) words.
#include "histogram.cuh"

namespace {

constexpr unsigned consumers = 512;  // Threads that count; one more warp copies.
constexpr unsigned threads = consumers + 32;
constexpr unsigned cluster_size = 8;
constexpr unsigned stages = 3;
constexpr unsigned tile = 8192;  // Values.
constexpr unsigned piece = tile / cluster_size;
constexpr unsigned all_blocks = (1U << cluster_size) - 1;

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Waits for a phase that threads of any block of the cluster complete.
__device__ void wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n"
        :
        : "r"(barrier), "r"(parity)
        : "memory");
}

/// Arrives at another block's barrier with the same address; the block is in the same cluster.
__device__ void arrive_at(unsigned barrier, unsigned rank) {
    unsigned there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barrier), "r"(rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there)
                 : "memory");
}

/// Copies this block's piece of a tile to the same address in every block and signals each block's
/// barrier.
__device__ void share_piece(unsigned to, const unsigned* from, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1], %2, [%3], %4;"
        :
        : "r"(to), "l"(from), "n"(piece * 4), "r"(barrier),
          "h"(static_cast<unsigned short>(all_blocks))
        : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    histogram_cluster(const unsigned* __restrict__ values, unsigned* counts, unsigned long long n,
                      unsigned bins) {
    extern __shared__ __align__(128) unsigned dynamic[];
    __shared__ __align__(8) unsigned long long full[stages];
    __shared__ __align__(8) unsigned long long empty[stages];
    unsigned* const ring = dynamic;
    unsigned* const part = dynamic + stages * tile;
    const unsigned rank = blockIdx.x % cluster_size;
    const unsigned cluster = blockIdx.x / cluster_size;
    const unsigned clusters = gridDim.x / cluster_size;
    const unsigned part_size = (bins + cluster_size - 1) / cluster_size;
    const unsigned first_bin = rank * part_size;
    const unsigned own_bins = first_bin < bins ? min(part_size, bins - first_bin) : 0;
    const unsigned long long tiles =
        reinterpret_cast<unsigned long long>(values) % 16 == 0 ? n / tile : 0;

    for (unsigned i = threadIdx.x; i < part_size; i += threads)
        part[i] = 0;
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < stages; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s]))
                         : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&empty[s])),
                         "n"(cluster_size)
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    sync_cluster();

    if (threadIdx.x == consumers) {
        unsigned filled = 0;
        for (unsigned long long t = cluster; t < tiles; t += clusters, ++filled) {
            const unsigned s = filled % stages;
            // Waits until all blocks have counted the stage; in the first round every stage is
            // empty.
            wait(shared_address(&empty[s]), (filled / stages & 1U) ^ 1U);
            const unsigned barrier = shared_address(&full[s]);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "n"(tile * 4)
                         : "memory");
            share_piece(shared_address(ring + s * tile + rank * piece),
                        values + t * tile + rank * piece, barrier);
        }
    } else if (threadIdx.x < consumers) {
        unsigned used = 0;
        for (unsigned long long t = cluster; t < tiles; t += clusters, ++used) {
            const unsigned s = used % stages;
            wait(shared_address(&full[s]), used / stages & 1U);
            const auto* const staged = reinterpret_cast<const uint4*>(ring + s * tile);
            uint4 fours[tile / 4 / consumers];
#pragma unroll
            for (unsigned j = 0; j < tile / 4 / consumers; ++j)
                fours[j] = staged[j * consumers + threadIdx.x];
            asm volatile("bar.sync 1, %0;" ::"n"(consumers) : "memory");
            if (threadIdx.x < cluster_size) arrive_at(shared_address(&empty[s]), threadIdx.x);
            const auto count = [&](unsigned value) {
                if (value - first_bin < own_bins) atomicAdd(part + (value - first_bin), 1U);
            };
#pragma unroll
            for (unsigned j = 0; j < tile / 4 / consumers; ++j) {
                count(fours[j].x);
                count(fours[j].y);
                count(fours[j].z);
                count(fours[j].w);
            }
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < own_bins; i += threads) {
        if (part[i] != 0) atomicAdd(counts + first_bin + i, part[i]);
    }
    // Values after the last whole tile.
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    for (unsigned long long i = tiles * tile +
                                blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
         i < n; i += step) {
        if (values[i] < bins) atomicAdd(counts + values[i], 1U);
    }
    // No block may exit while others still copy into its ring or arrive at its barriers.
    sync_cluster();
}
