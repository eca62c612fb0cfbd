//@ bug: Memory is freed on the stream that made it while another stream reads it.
//@ class: streams
//@ buffer: to f32[256] = 0
//@ stream: owner
//@ stream: reader
//@ on: owner
//@ allocate: part f32[256]
//@ fill: part = 0, 1024
//@ record: filled
//@ on: reader
//@ await: filled
//@ launch: add<<<1, 256>>>(part, part, to, 256)
//@ on: owner
//@ free: part

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
