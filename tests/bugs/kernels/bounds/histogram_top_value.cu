//@ bug: A value equal to the upper limit falls into bin `bins`, one past the last.
//@ class: bounds
//@ buffer: values f32[256] = i / 255.0
//@ buffer: histogram u32[16] = 0
//@ launch: bin_values<<<1, 256>>>(values, histogram, 256, 16)

// Counts values of [0, 1] in equal bins.
__global__ void bin_values(const float* values, unsigned* histogram, int n, int bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int bin = static_cast<int>(values[i] * bins);
        atomicAdd(&histogram[bin], 1u);  // BUG
    }
}
