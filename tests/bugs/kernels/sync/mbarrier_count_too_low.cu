//@ bug: The mbarrier expects half of the arrivals, so its phase completes too early.
//@ class: sync
//@ buffer: data i32[64] = i
//@ launch: reverse<<<1, 64>>>(data)

#include <cuda/barrier>

__global__ void reverse(int* data) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x / 2);  // BUG
    __syncthreads();
    s[t] = data[t];  // BUG
    bar.arrive_and_wait();  // BUG
    data[t] = s[63 - t];  // BUG
}
