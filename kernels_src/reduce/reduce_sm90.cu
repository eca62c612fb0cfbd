// The sum by clusters of blocks, which use distributed shared memory (9.0) and need an eighth of the
// partial sums and tickets.
#include "reduce.cuh"

namespace {

constexpr unsigned cluster_size = 8;

/// A shared variable of another block of the cluster.
__device__ element load_of_rank(const element* variable, unsigned rank) {
    const auto here = static_cast<unsigned>(__cvta_generic_to_shared(variable));
    unsigned there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    unsigned words[sizeof(element) / 4];
#pragma unroll
    for (unsigned i = 0; i < sizeof(element) / 4; ++i) {
        asm volatile("ld.shared::cluster.u32 %0, [%1];"
                     : "=r"(words[i])
                     : "r"(there + i * 4)
                     : "memory");
    }
    element value = 0;
    memcpy(&value, words, sizeof(value));
    return value;
}

__device__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    reduce_cluster(const element* __restrict__ from, element* to, element* workspace,
                   unsigned long long n) {
    __shared__ element of_block;
    const element partial = sum_of_block(sum_of_share(from, n), ShuffleSum{});
    if (threadIdx.x == 0) of_block = partial;
    sync_cluster();
    const unsigned rank = blockIdx.x % cluster_size;
    element of_cluster = 0;
    if (rank == 0 && threadIdx.x < 32) {
        if (threadIdx.x < cluster_size) of_cluster = load_of_rank(&of_block, threadIdx.x);
        of_cluster = ShuffleSum{}(of_cluster);
    }
    // No block may exit while its shared memory is being read.
    sync_cluster();
    if (rank == 0)
        finish(of_cluster, blockIdx.x / cluster_size, gridDim.x / cluster_size, to, workspace,
               ShuffleSum{});
}
