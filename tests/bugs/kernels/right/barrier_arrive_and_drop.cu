//@ right: Threads that finish early drop out of the barrier, and the others go on.
//@ class: hang
//@ buffer: out i32[64] = 0
//@ launch: shrink<<<1, 64>>>(out)
//@ expect: out = i % 4 + 1

#include <cuda/barrier>

__global__ void shrink(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int rounds = threadIdx.x % 4 + 1;
    for (int k = 0; k < rounds; ++k) {
        out[threadIdx.x] += 1;
        if (k + 1 == rounds) bar.arrive_and_drop();
        else bar.arrive_and_wait();
    }
}
