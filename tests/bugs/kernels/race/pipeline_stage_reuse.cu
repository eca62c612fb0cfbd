//@ bug: A stage is filled again before all threads have read it: the second barrier is missing.
//@ class: race
//@ buffer: src f32[1024] = i
//@ buffer: out f32[128] = 0
//@ launch: sums<<<1, 128>>>(src, out, 8)

#include <cuda_pipeline.h>

__global__ void sums(const float* src, float* out, int tiles) {
    __shared__ float stage[2][128];
    const int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &src[t], 4);
    __pipeline_commit();
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles)
            __pipeline_memcpy_async(&stage[(k + 1) & 1][t], &src[(k + 1) * 128 + t], 4);  // BUG
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[k & 1][127 - t];  // BUG
        // A __syncthreads() belongs here.
    }
    out[t] = sum;
}
