//@ right: A histogram is spread over the shared memory of a cluster; all blocks add atomically.
//@ class: race
//@ buffer: data u32[512] = (i * 7 + i // 16) % 64
//@ buffer: bins u32[64] = 0
//@ launch: histogram<<<4, 64>>>(data, bins)
//@ holds: sum(bins) == 512

#include <cooperative_groups.h>

__global__ void __cluster_dims__(2, 1, 1) histogram(const unsigned* data, unsigned* bins) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ unsigned part[32];
    int t = threadIdx.x;
    if (t < 32) part[t] = 0;
    cluster.sync();
    for (int k = 0; k < 2; ++k) {
        unsigned value = data[(blockIdx.x * 64 + t) * 2 + k];
        atomicAdd(cluster.map_shared_rank(&part[value % 32], value / 32), 1u);
    }
    cluster.sync();
    if (t < 32) atomicAdd(&bins[cluster.block_rank() * 32 + t], part[t]);
}
