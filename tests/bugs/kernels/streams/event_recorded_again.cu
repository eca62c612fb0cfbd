//@ bug: The wait comes after the event is recorded again, on a stream that makes nothing.
//@ class: streams
//@ buffer: x f32[256] = i
//@ buffer: y f32[256] = 0
//@ stream: maker
//@ stream: idle
//@ stream: user
//@ on: maker
//@ launch: scale<<<1, 256>>>(x, 2.0f, 256)
//@ record: done
//@ on: idle
//@ record: done
//@ on: user
//@ await: done
//@ launch: add<<<1, 256>>>(x, x, y, 256)

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
