//@ bug: All threads arrive at a cuda::barrier and go on without waiting for it.
//@ class: race
//@ buffer: data i32[96] = i
//@ launch: rotate<<<1, 96>>>(data)

#include <cuda/barrier>

__global__ void rotate(int* data) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[96];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[threadIdx.x] = data[threadIdx.x];  // BUG
    auto token = bar.arrive();
    data[threadIdx.x] = s[(threadIdx.x + 32) % 96];  // BUG
    bar.wait(std::move(token));
}
