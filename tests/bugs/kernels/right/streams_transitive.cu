//@ right: The third stream waits for the second alone, which has waited for the first.
//@ class: streams
//@ buffer: x f32[256] = i
//@ buffer: y f32[256] = 0
//@ stream: a
//@ stream: b
//@ stream: c
//@ on: a
//@ launch: scale<<<1, 256>>>(x, 2.0f, 256)
//@ record: first
//@ on: b
//@ await: first
//@ record: second
//@ on: c
//@ await: second
//@ launch: add<<<1, 256>>>(x, x, y, 256)
//@ expect: y = 4.0 * x[i]

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
