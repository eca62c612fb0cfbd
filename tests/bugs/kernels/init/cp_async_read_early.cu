//@ bug: A thread reads the bytes that it copies asynchronously before it waits for them.
//@ class: init
//@ buffer: src i32[128] = i
//@ buffer: out i32[32] = 0
//@ launch: early<<<1, 32>>>(src, out)

#include <cuda_pipeline.h>

__global__ void early(const int* src, int* out) {
    __shared__ alignas(16) int4 box[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&box[t], reinterpret_cast<const int4*>(src) + t, sizeof(int4));  // BUG
    __pipeline_commit();
    int4 v = box[t];  // BUG
    __pipeline_wait_prior(0);
    out[t] = v.x + v.y + v.z + v.w;
}
