// A histogram with more bins than one block's shared memory holds: the blocks of a cluster hold a
// part each and count in one another's shared memory (distributed shared memory, 9.0).
//
// Counts must be zero before the launch. Dynamic shared memory: ceil(bins / cluster size) words.
#include "histogram.cuh"

namespace {

constexpr unsigned cluster_size = 8;

__device__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Adds one to a word of the shared memory of a block of this cluster.
__device__ void count_at(unsigned here, unsigned rank) {
    unsigned there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(there) : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    histogram_cluster(const unsigned* __restrict__ values, unsigned* counts, unsigned long long n,
                      unsigned bins) {
    extern __shared__ unsigned part[];
    const unsigned part_size = (bins + cluster_size - 1) / cluster_size;
    for (unsigned i = threadIdx.x; i < part_size; i += threads)
        part[i] = 0;
    sync_cluster();
    const auto base = static_cast<unsigned>(__cvta_generic_to_shared(part));
    for_share(values, n, [&](unsigned value) {
        if (value >= bins) return;
        const unsigned rank = value / part_size;
        count_at(base + (value - rank * part_size) * 4, rank);
    });
    // No block may end, or read its part, while others still count in it.
    sync_cluster();
    const unsigned first = blockIdx.x % cluster_size * part_size;
    for (unsigned i = threadIdx.x; i < part_size && first + i < bins; i += threads) {
        if (part[i] != 0) atomicAdd(counts + first + i, part[i]);
    }
}
