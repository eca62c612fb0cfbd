//@ bug: A thread leaves the loop of phases without arrive_and_drop, and the rest wait for it.
//@ class: hang
//@ buffer: out i32[64] = 0
//@ launch: rounds<<<1, 64>>>(out, 4)

#include <cuda/barrier>

__global__ void rounds(int* out, int count) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int k = 0; k < count; ++k) {
        if (threadIdx.x == 5 && k == 2) return;  // BUG
        out[threadIdx.x] += 1;
        bar.arrive_and_wait();  // BUG
    }
}
