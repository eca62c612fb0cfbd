__constant__ float coefficients[4];
__device__ unsigned long long negatives;

extern "C" __global__ void polynomial(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = coefficients[3];
    for (int power = 2; power >= 0; --power)
        value = value * x[i] + coefficients[power];
    y[i] = value;
    if (value < 0) atomicAdd(&negatives, 1ULL);
}
