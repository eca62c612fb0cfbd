//@ bug: With an odd width, every second row of halves starts at an address that half2 can't have.
//@ class: alignment
//@ buffer: a u16[330] = 0x3c00
//@ buffer: out f32[10] = 0
//@ launch: row_dot<<<1, 10>>>(a, out, 33)

#include <cuda_fp16.h>

__global__ void row_dot(const __half* a, float* out, int width) {
    const __half* row = a + threadIdx.x * width;
    float sum = 0;
    for (int k = 0; k + 1 < width; k += 2) {
        __half2 pair = *reinterpret_cast<const __half2*>(row + k);  // BUG
        sum += __low2float(pair) + __high2float(pair);
    }
    out[threadIdx.x] = sum;
}
