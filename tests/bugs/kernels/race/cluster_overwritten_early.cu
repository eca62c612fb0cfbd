//@ bug: The next round overwrites shared memory that the neighbour block may still be reading.
//@ class: race
//@ buffer: out i32[64] = 0
//@ launch: rounds<<<2, 32>>>(out)

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) rounds(int* out) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int mine[32];
    int t = threadIdx.x;
    int* theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        mine[t] = round * 100 + blockIdx.x * 32 + t;  // BUG
        cluster.sync();
        sum += theirs[31 - t];  // BUG
    }
    out[blockIdx.x * 32 + t] = sum;
    cluster.sync();
}
