//@ bug: A thread waits for its own copies, and then reads what another thread copied.
//@ class: race
//@ buffer: src f32[256] = i
//@ buffer: out f32[256] = 0
//@ launch: reversed<<<1, 64>>>(src, out)

#include <cuda_pipeline.h>

__global__ void reversed(const float* src, float* out) {
    __shared__ alignas(16) float4 tile[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], reinterpret_cast<const float4*>(src) + t, 16);  // BUG
    __pipeline_commit();
    __pipeline_wait_prior(0);
    float4 v = tile[63 - t];  // BUG
    reinterpret_cast<float4*>(out)[t] = make_float4(v.w, v.z, v.y, v.x);
}
