//@ bug: The event is recorded before the kernel whose result the other stream reads.
//@ class: streams
//@ buffer: x f32[256] = i
//@ buffer: y f32[256] = 0
//@ stream: first
//@ stream: second
//@ on: first
//@ record: ready
//@ launch: scale<<<1, 256>>>(x, 2.0f, 256)
//@ on: second
//@ await: ready
//@ launch: add<<<1, 256>>>(x, x, y, 256)

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
