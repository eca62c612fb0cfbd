//@ bug: Thread 0 initialises the barrier, and other warps arrive without waiting for that.
//@ class: sync
//@ buffer: data i32[128] = i
//@ launch: rotate<<<1, 128>>>(data)

#include <cuda/barrier>

__global__ void rotate(int* data) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[t];
    if (t == 127) init(&bar, blockDim.x);  // BUG
    bar.arrive_and_wait();  // BUG
    data[t] = s[(t + 1) % 128];
}
