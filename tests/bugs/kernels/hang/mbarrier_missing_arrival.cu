//@ bug: The barrier expects every thread of the block, and one warp never arrives.
//@ class: hang
//@ buffer: out i32[96] = 0
//@ launch: phases<<<1, 96>>>(out)

#include <cuda/barrier>

__global__ void phases(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x < 64) {
        bar.arrive_and_wait();  // BUG
        out[threadIdx.x] = 1;
    }
}
