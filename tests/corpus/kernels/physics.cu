// n-body forces and option prices: square roots, exponentials, logarithms.
extern "C" __global__ void nbody(const float4* body, float4* force, int n) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[i];
    float fx = 0, fy = 0, fz = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; ++j) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float inv = rsqrtf(d2);
            float s = tile[j].w * inv * inv * inv;
            fx += dx * s;
            fy += dy * s;
            fz += dz * s;
        }
        __syncthreads();
    }
    force[i] = make_float4(fx, fy, fz, 0);
}
__device__ float normal_cdf(float d) { return 0.5f * erfcf(-d * 0.70710678f); }
extern "C" __global__ void black_scholes(const float* spot, const float* strike, const float* years,
                                         float* call, float* put, float rate, float vol, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float root = sqrtf(years[i]);
    float d1 = (logf(spot[i] / strike[i]) + (rate + 0.5f * vol * vol) * years[i]) / (vol * root);
    float d2 = d1 - vol * root;
    float discount = expf(-rate * years[i]);
    call[i] = spot[i] * normal_cdf(d1) - strike[i] * discount * normal_cdf(d2);
    put[i] = strike[i] * discount * normal_cdf(-d2) - spot[i] * normal_cdf(-d1);
}
extern "C" __global__ void black_scholes_double(const double* spot, double* call, double strike,
                                                double years, double rate, double vol, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double root = sqrt(years);
    double d1 = (log(spot[i] / strike) + (rate + 0.5 * vol * vol) * years) / (vol * root);
    call[i] = spot[i] * normcdf(d1) - strike * exp(-rate * years) * normcdf(d1 - vol * root);
}
