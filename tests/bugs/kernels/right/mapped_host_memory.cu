//@ right: A kernel reads and writes page-locked host memory, which the host frees at the end.
//@ class: leak
//@ buffer: pinned samples f64[64] = i / 2
//@ buffer: pinned result f64[1] = 0
//@ launch: mean<<<1, 32>>>(samples, result, 64)
//@ expect: result = sum(samples) / 64

__global__ void mean(const double* samples, double* result, int n) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += samples[i];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *result = sum / n;
}
