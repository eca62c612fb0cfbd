//@ bug: The default stream doesn't wait for a stream that is non-blocking.
//@ class: streams
//@ buffer: x f32[300] = i
//@ buffer: sum f32[300] = 0
//@ stream: side
//@ on: side
//@ launch: scale<<<2, 256>>>(x, 3.0f, 300)
//@ on: default
//@ launch: add<<<2, 256>>>(x, x, sum, 300)

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
