//@ bug: The producers arrive at the barrier first and write their values afterwards.
//@ class: race
//@ buffer: out i32[32] = 0
//@ launch: handoff<<<1, 64>>>(out)

#include <cuda/barrier>

__global__ void handoff(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ int box[32];
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    if (threadIdx.x < 32) {
        auto token = ready.arrive();
        box[threadIdx.x] = threadIdx.x + 100;  // BUG
        (void)token;
    } else {
        ready.arrive_and_wait();
        out[threadIdx.x - 32] = box[63 - threadIdx.x];  // BUG
    }
}
