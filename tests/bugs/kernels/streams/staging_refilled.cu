//@ bug: The staging buffer gets the next part while the first copy out of it may still run.
//@ class: streams
//@ buffer: pinned staging f32[256] = i
//@ buffer: first f32[256] = 0
//@ buffer: second f32[256] = 7
//@ stream: up
//@ stream: prepare
//@ on: up
//@ copy: first = staging, 1024
//@ on: prepare
//@ copy: staging = second, 1024

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
