//@ bug: Every thread reads its neighbours' asynchronously copied values, and nobody waits.
//@ class: race
//@ buffer: src f32[128] = i
//@ buffer: out f32[128] = 0
//@ launch: stage<<<1, 32>>>(src, out)

#include <cuda_pipeline.h>

__global__ void stage(const float* src, float* out) {
    __shared__ alignas(16) float tile[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &src[4 * t], 16);  // BUG
    __pipeline_commit();
    __syncthreads();
    for (int k = t; k < 128; k += 32) out[k] = 2 * tile[127 - k];  // BUG
}
