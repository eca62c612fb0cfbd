//@ bug: A block reads its neighbour's shared memory after __syncthreads instead of cluster.sync.
//@ class: race
//@ buffer: out i32[64] = 0
//@ launch: exchange<<<2, 32>>>(out)

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) exchange(int* out) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int mine[32];
    int t = threadIdx.x;
    cluster.sync();
    mine[t] = blockIdx.x * 32 + t;  // BUG
    __syncthreads();
    int* theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    out[blockIdx.x * 32 + t] = theirs[31 - t];  // BUG
    cluster.sync();
}
