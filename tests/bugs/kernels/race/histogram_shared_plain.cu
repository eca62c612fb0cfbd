//@ bug: Threads of a block increment the bins of shared memory without atomics.
//@ class: race
//@ buffer: keys u8[512] = i * 13
//@ buffer: out u32[16] = 0
//@ launch: histogram<<<2, 256>>>(keys, out)

__global__ void histogram(const unsigned char* keys, unsigned* out) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[keys[blockIdx.x * blockDim.x + threadIdx.x] & 15]++;  // BUG
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
