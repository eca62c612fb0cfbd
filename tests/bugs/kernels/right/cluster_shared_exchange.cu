//@ right: Blocks of a cluster read each other's shared memory between two cluster barriers.
//@ class: race
//@ buffer: out i32[128] = none
//@ launch: exchange<<<4, 32>>>(out)
//@ expect: out = (i // 32 ^ 1) * 32 + 31 - i % 32

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) exchange(int* out) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int mine[32];
    int t = threadIdx.x;
    mine[t] = blockIdx.x * 32 + t;
    cluster.sync();
    int* theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    out[blockIdx.x * 32 + t] = theirs[31 - t];
    cluster.sync();
}
