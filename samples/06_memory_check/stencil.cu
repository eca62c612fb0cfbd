// The mean of each element and the one before it, written one element too far: the last thread
// writes out[n]. On a GPU this goes unnoticed.
extern "C" __global__ void mean2(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || i >= n) return;
    out[i + 1] = (in[i - 1] + in[i]) / 2;  // Planted.
}
