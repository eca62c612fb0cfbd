//@ bug: The wait leaves one group pending too many, so the newest stage is read before it is there.
//@ class: init
//@ buffer: src f32[256] = i
//@ buffer: out f32[64] = 0
//@ launch: two<<<1, 64>>>(src, out)

#include <cuda_pipeline.h>

__global__ void two(const float* src, float* out) {
    __shared__ float stage[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][t], src + t, 4);  // BUG
    __pipeline_commit();
    __pipeline_memcpy_async(&stage[1][t], src + 64 + t, 4);
    __pipeline_commit();
    float sum = 0;
    for (int k = 0; k < 2; ++k) {
        __pipeline_wait_prior(2);
        sum += stage[k][t];  // BUG
    }
    __pipeline_wait_prior(0);
    out[t] = sum;
}
