//@ bug: Both blocks of a cluster store their result in the same word of the first block.
//@ class: race
//@ buffer: out i32[2] = 0
//@ launch: collect<<<2, 32>>>(out)

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) collect(int* out) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int result;
    cluster.sync();
    if (threadIdx.x == 0) *cluster.map_shared_rank(&result, 0) = 40 + blockIdx.x;  // BUG
    cluster.sync();
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = result;
}
