extern "C" __global__ void double_functions(const double* x, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    double* o = out + i * 12;
    o[0] = sin(v);
    o[1] = cos(v);
    o[2] = exp(v * 0.01);
    o[3] = log(fabs(v) + 1);
    o[4] = pow(fabs(v) + 0.5, 1.7);
    o[5] = cbrt(v);
    o[6] = atan2(v, 3.0);
    o[7] = sqrt(fabs(v));
    o[8] = tanh(v * 0.1);
    o[9] = erf(v * 0.05);
    o[10] = v / 3.7;
    o[11] = fmod(v, 2.5);
}
extern "C" __global__ void float_functions(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float* o = out + i * 12;
    o[0] = sinf(v);
    o[1] = cosf(v);
    o[2] = expf(v * 0.01f);
    o[3] = logf(fabsf(v) + 1);
    o[4] = powf(fabsf(v) + 0.5f, 1.7f);
    o[5] = cbrtf(v);
    o[6] = atan2f(v, 3.0f);
    o[7] = sqrtf(fabsf(v));
    o[8] = tanhf(v * 0.1f);
    o[9] = rintf(v) + floorf(v) * 2 + ceilf(v) * 4 + truncf(v) * 8;
    o[10] = v / 3.7f;
    o[11] = fmodf(v, 2.5f);
}
extern "C" __global__ void roundings(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], w = x[n - 1 - i];
    float* o = out + i * 8;
    o[0] = __fadd_rz(v, w);
    o[1] = __fadd_ru(v, w);
    o[2] = __fadd_rd(v, w);
    o[3] = __fmul_rz(v, w);
    o[4] = __fdiv_ru(v, w == 0 ? 1 : w);
    o[5] = __fsqrt_rd(fabsf(v));
    o[6] = __fmaf_rz(v, w, v);
    o[7] = __double2float_ru((double)v * 1.1);
}
