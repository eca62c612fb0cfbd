//@ bug: A kernel of another stream reads what a graph is writing.
//@ class: streams
//@ buffer: x f32[256] = i
//@ buffer: y f32[256] = 0
//@ stream: main
//@ stream: side
//@ on: main
//@ capture: begin
//@ launch: scale<<<1, 256>>>(x, 2.0f, 256)
//@ replay: launch
//@ on: side
//@ launch: add<<<1, 256>>>(x, x, y, 256)

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
