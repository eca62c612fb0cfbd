//@ right: Three stages of __pipeline_memcpy_async with wait_prior and both barriers.
//@ class: race
//@ buffer: data i32[640] = i
//@ buffer: out i32[64] = none
//@ launch: staged<<<1, 64>>>(data, out, 10)
//@ expect: out = sum(data[k * 64 + 63 - i] for k in range(10))

#include <cuda_pipeline.h>

__global__ void staged(const int* in, int* out, int tiles) {
    constexpr int stages = 3;
    __shared__ int stage[stages][64];
    const int t = threadIdx.x;
    for (int k = 0; k < stages - 1; ++k) {
        if (k < tiles) __pipeline_memcpy_async(&stage[k][t], in + k * 64 + t, 4);
        __pipeline_commit();
    }
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        int ahead = k + stages - 1;
        if (ahead < tiles) __pipeline_memcpy_async(&stage[ahead % stages][t], in + ahead * 64 + t, 4);
        __pipeline_commit();
        __pipeline_wait_prior(stages - 1);
        __syncthreads();
        sum += stage[k % stages][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
