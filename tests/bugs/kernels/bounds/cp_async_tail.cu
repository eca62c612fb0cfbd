//@ bug: Asynchronous copies of 16 bytes read past a source whose size isn't a multiple of them.
//@ class: bounds
//@ buffer: src f32[126] = i
//@ buffer: out f32[128] = 0
//@ launch: stage<<<1, 32>>>(src, out)

#include <cuda_pipeline.h>

__global__ void stage(const float* src, float* out) {
    __shared__ alignas(16) float tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[4 * t], &src[4 * t], 16);  // BUG
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = t; k < 128; k += 32) out[k] = 2 * tile[k];
}
