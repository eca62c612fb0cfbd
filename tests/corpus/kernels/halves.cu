#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void half_arithmetic(const float* x, unsigned short* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = __float2half(x[i]), b = __float2half(x[(i + 1) % n]), c = __float2half(x[(i + 2) % n]);
    unsigned short* o = out + i * 8;
    o[0] = __half_as_ushort(a + b);
    o[1] = __half_as_ushort(a * b);
    o[2] = __half_as_ushort(__hfma(a, b, c));
    o[3] = __half_as_ushort(__hmax(a, b));
    o[4] = __half_as_ushort(__double2half((double)x[i] * 1.0009765625));
    o[5] = a < b;
    __half2 p = __hfma2(__halves2half2(a, b), __halves2half2(b, c), __halves2half2(c, a));
    o[6] = __half_as_ushort(__low2half(p));
    o[7] = __half_as_ushort(__high2half(p));
}
extern "C" __global__ void bfloat_arithmetic(const float* x, unsigned short* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 a = __float2bfloat16(x[i]), b = __float2bfloat16(x[(i + 1) % n]);
    unsigned short* o = out + i * 4;
    o[0] = __bfloat16_as_ushort(a + b);
    o[1] = __bfloat16_as_ushort(a * b);
    o[2] = __bfloat16_as_ushort(__hmin(a, b));
    o[3] = __bfloat16_as_ushort(a);
}
extern "C" __global__ void eights(const float* x, unsigned char* out, float* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_fp8_e4m3 a(x[i]);
    __nv_fp8_e5m2 b(x[i]);
    out[2 * i] = a.__x;
    out[2 * i + 1] = b.__x;
    back[2 * i] = (float)a;
    back[2 * i + 1] = (float)b;
}
