//@ right: Blocks of a cluster exchange values through global memory; the cluster's barrier orders it.
//@ class: race
//@ buffer: stage i32[128] = 0
//@ buffer: out i32[128] = none
//@ launch: exchange<<<4, 32>>>(stage, out)
//@ expect: out = (i // 64) * 64 + 63 - i % 64 + 500

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) exchange(int* stage, int* out) {
    auto cluster = cooperative_groups::this_cluster();
    int i = blockIdx.x * 32 + threadIdx.x;
    stage[i] = 500 + i;
    cluster.sync();
    out[i] = stage[i / 64 * 64 + 63 - i % 64];
}
