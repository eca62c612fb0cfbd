//@ bug: A fill in the default stream is assumed to order the kernel in a non-blocking stream.
//@ class: streams
//@ buffer: data u16[800] = 40503 * i
//@ buffer: bins u32[64] = none
//@ stream: work
//@ on: default
//@ fill: bins = 0, 256
//@ on: work
//@ launch: histogram<<<4, 200>>>(data, bins)

__global__ void histogram(const unsigned short* data, unsigned* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[data[i] >> 10], 1u);  // BUG
}
