#include <cooperative_groups.h>

using Sum = unsigned long long;

// What one block adds of n numbers, in its shared memory.
__device__ Sum* share_of_block(const unsigned* x, int n) {
    __shared__ Sum sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    Sum own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += x[i];
    atomicAdd(&sum, own);
    return &sum;
}

// The first block of each cluster reads the shared memory of the others.
extern "C" __global__ void by_clusters(const unsigned* x, int n, Sum* result) {
#if __CUDA_ARCH__ >= 900
    const auto cluster = cooperative_groups::this_cluster();
    Sum* const share = share_of_block(x, n);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        Sum total = 0;
        for (unsigned block = 0; block < cluster.num_blocks(); ++block)
            total += *cluster.map_shared_rank(share, block);
        atomicAdd(result, total);
    }
    cluster.sync();  // No block may end while another reads its memory.
#else
    __trap();
#endif
}

// Each block adds its sum by itself.
extern "C" __global__ void by_blocks(const unsigned* x, int n, Sum* result) {
    const Sum* const share = share_of_block(x, n);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(result, *share);
}
