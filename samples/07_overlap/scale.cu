extern "C" __global__ void scale(const float* x, float* y, float a, int rounds, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int round = 0; round < rounds; ++round)
        value = a * value + x[i];
    y[i] = value;
}
