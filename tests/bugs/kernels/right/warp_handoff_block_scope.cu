//@ right: A warp passes data to another by a cuda::atomic of block scope in shared memory.
//@ class: race
//@ buffer: out i32[32] = none
//@ launch: handoff<<<1, 64>>>(out)
//@ expect: out = (31 - i) * (31 - i)

#include <cuda/atomic>

__global__ void handoff(int* out) {
    __shared__ int box[32];
    __shared__ cuda::atomic<int, cuda::thread_scope_block> ready;
    if (threadIdx.x == 0) ready.store(0, cuda::memory_order_relaxed);
    __syncthreads();
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        box[lane] = lane * lane;
        ready.fetch_add(1, cuda::memory_order_release);
    } else {
        while (ready.load(cuda::memory_order_acquire) != 32) {}
        out[lane] = box[31 - lane];
    }
}
