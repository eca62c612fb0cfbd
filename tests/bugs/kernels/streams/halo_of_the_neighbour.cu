//@ bug: Each stream smooths its half in place, and reads one element of the other's.
//@ class: streams
//@ buffer: x f32[256] = i * i % 17
//@ buffer: y f32[256] = 0
//@ stream: low
//@ stream: high
//@ on: low
//@ launch: scale<<<1, 128>>>(x, 0.5f, 128)
//@ on: high
//@ launch: smooth<<<1, 128>>>(x+508, y+512, 128)

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void smooth(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    if (i < n) y[i] = x[i] + x[i + 1];
}
