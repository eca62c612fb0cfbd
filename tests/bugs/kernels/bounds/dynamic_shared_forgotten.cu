//@ bug: The kernel needs a float per thread of dynamic shared memory, and the launch gives half.
//@ class: bounds
//@ buffer: in f32[128] = i
//@ buffer: out f32[1] = 0
//@ launch: block_sum<<<1, 128, 256>>>(in, out)

__global__ void block_sum(const float* in, float* out) {
    extern __shared__ float cache[];
    cache[threadIdx.x] = in[threadIdx.x];  // BUG
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = cache[0];
}
