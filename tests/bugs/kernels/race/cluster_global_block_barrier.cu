//@ bug: Blocks of a cluster exchange values through global memory after __syncthreads.
//@ class: race
//@ buffer: stage i32[64] = 0
//@ buffer: out i32[64] = 0
//@ launch: exchange<<<2, 32>>>(stage, out)

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) exchange(int* stage, int* out) {
    auto cluster = cooperative_groups::this_cluster();
    int i = blockIdx.x * 32 + threadIdx.x;
    cluster.sync();
    stage[i] = 500 + i;  // BUG
    __syncthreads();
    out[i] = stage[63 - i];  // BUG
    cluster.sync();
}
