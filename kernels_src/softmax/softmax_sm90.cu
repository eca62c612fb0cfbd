// A row for each cluster of blocks, in registers: the blocks exchange their parts through
// distributed shared memory (9.0). Up to 32 columns for each thread of the cluster, a multiple of 4;
// addresses are multiples of 16.
#include "softmax.cuh"

namespace {

constexpr unsigned cluster_size = 8;

/// Stores into the same variable of another block of the cluster.
__device__ void store_at_rank(Part* variable, unsigned rank, const Part& part) {
    const auto here = static_cast<unsigned>(__cvta_generic_to_shared(variable));
    unsigned there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(part.largest),
                 "f"(part.sum)
                 : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
    softmax_cluster(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                    unsigned columns) {
    __shared__ __align__(8) Part of_blocks[cluster_size];
    // A block may store into the others only once all of them run.
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    const unsigned rank = blockIdx.x % cluster_size;
    const unsigned long long start =
        static_cast<unsigned long long>(blockIdx.x / cluster_size) * columns;
    Share<8> share(from + start, columns / 4, rank * blockDim.x + threadIdx.x,
                   cluster_size * blockDim.x);
    const Part of_block = over_block(share.over_warp());
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < cluster_size) store_at_rank(of_blocks + rank, threadIdx.x, of_block);
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    const unsigned lane = threadIdx.x % 32;
    share.finish(to + start, over_warp(lane < cluster_size ? of_blocks[lane] : Part()));
}
