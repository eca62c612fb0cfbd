#ifndef HARMONIC
#define HARMONIC 1
#endif

extern "C" __global__ void wave(float* y, int n, float time) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f * sinf(HARMONIC * 0.01f * i + time);
}
