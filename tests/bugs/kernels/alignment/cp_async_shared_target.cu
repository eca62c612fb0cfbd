//@ bug: The target of a copy of 16 bytes is only aligned to 8.
//@ class: alignment
//@ buffer: src f32[128] = i
//@ buffer: out f32[128] = 0
//@ launch: stage<<<1, 32>>>(src, out)

#include <cuda_pipeline.h>

__global__ void stage(const float* src, float* out) {
    __shared__ alignas(16) float raw[132];
    float* tile = raw + 2;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::  // BUG
                 "r"((unsigned)__cvta_generic_to_shared(tile + 4 * threadIdx.x)),  // BUG
                 "l"(src + 4 * threadIdx.x));  // BUG
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = threadIdx.x; k < 128; k += 32) out[k] = tile[k];
}
