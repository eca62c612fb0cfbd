//@ right: Bins in shared memory are cleared, counted with atomics and merged, with both barriers.
//@ class: init
//@ buffer: keys u8[1024] = i * 37
//@ buffer: bins u32[64] = 0
//@ launch: histogram<<<4, 128>>>(keys, bins, 1024)
//@ expect: bins = sum(1 for key in keys if key % 64 == i)

__global__ void histogram(const unsigned char* keys, unsigned* bins, int n) {
    __shared__ unsigned mine[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[keys[i] & 63], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        if (mine[b]) atomicAdd(&bins[b], mine[b]);
}
