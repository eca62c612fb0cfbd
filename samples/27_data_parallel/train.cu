// Least squares, y = X w, on one device's share of the samples. X is stored by features: feature f
// of sample i is x[f * n + i].

extern "C" __global__ void residuals(const float* x, const float* y, const float* w, float* r,
                                     int n, int features) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = -y[i];
    for (int f = 0; f < features; ++f)
        sum += x[f * n + i] * w[f];
    r[i] = sum;
}

// One block of 256 threads for each feature: the gradient's element, over this share.
extern "C" __global__ void gradients(const float* x, const float* r, float* gradient, int n) {
    __shared__ float sums[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += x[blockIdx.x * n + i] * r[i];
    sums[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) gradient[blockIdx.x] = sums[0];
}

// Adds the shares of all devices in their order, so that every device gets the same bits.
extern "C" __global__ void add_shares(const float* shares, float* sum, int count, int features) {
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= features) return;
    float all = 0;
    for (int k = 0; k < count; ++k)
        all += shares[k * features + f];
    sum[f] = all;
}

extern "C" __global__ void step(float* w, const float* sum, float rate, int features) {
    const int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f < features) w[f] -= rate * sum[f];
}
