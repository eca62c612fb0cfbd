//@ bug: Another stream uses memory before the stream that allocates it has done so.
//@ class: streams
//@ buffer: x f32[256] = i
//@ stream: owner
//@ stream: user
//@ on: owner
//@ allocate: part f32[256]
//@ on: user
//@ launch: add<<<1, 256>>>(x, x, part, 256)

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
