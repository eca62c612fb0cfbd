// The sum of unsigned integers modulo 2^32; clusters of blocks use distributed shared memory (9.0),
// which needs an eighth of the partial sums and tickets.
#include "reduce.cuh"

namespace {

constexpr unsigned cluster_size = 8;

/// A shared variable of another block of the cluster.
__device__ unsigned load_of_rank(const unsigned* variable, unsigned rank) {
    const auto here = static_cast<unsigned>(__cvta_generic_to_shared(variable));
    unsigned there = 0;
    unsigned value = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    return value;
}

__device__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    reduce_cluster(const unsigned* __restrict__ from, unsigned* to, unsigned* workspace,
                   unsigned long long n) {
    __shared__ unsigned of_block;
    const auto warp_sum = [](unsigned value) { return __reduce_add_sync(full_warp, value); };
    const unsigned partial = sum_of_block(sum_of_share(from, n), warp_sum);
    if (threadIdx.x == 0) of_block = partial;
    sync_cluster();
    const unsigned rank = blockIdx.x % cluster_size;
    unsigned of_cluster = 0;
    if (rank == 0 && threadIdx.x == 0) {
        for (unsigned r = 0; r < cluster_size; ++r)
            of_cluster += load_of_rank(&of_block, r);
    }
    // No block may exit while its shared memory is being read.
    sync_cluster();
    if (rank == 0)
        finish(of_cluster, blockIdx.x / cluster_size, gridDim.x / cluster_size, to, workspace,
               warp_sum);
}
