//@ right: The array of warp sums is reused, with a barrier after the reads of the first use.
//@ class: race
//@ buffer: data f32[256] = i % 16
//@ buffer: out f32[2] = none
//@ launch: moments<<<1, 256>>>(data, out)
//@ holds: abs(out[0] - 7.5) < 1e-6 and abs(out[1] - 21.25) < 1e-5

__device__ float block_sum(float v, float* warp_sum) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    if ((threadIdx.x & 31) == 0) warp_sum[threadIdx.x >> 5] = v;
    __syncthreads();
    float total = 0;
    for (int w = 0; w < 8; ++w) total += warp_sum[w];
    __syncthreads();
    return total;
}

__global__ void moments(const float* in, float* out) {
    __shared__ float warp_sum[8];
    float x = in[threadIdx.x];
    float mean = block_sum(x, warp_sum) / 256;
    float variance = block_sum((x - mean) * (x - mean), warp_sum) / 256;
    if (threadIdx.x == 0) {
        out[0] = mean;
        out[1] = variance;
    }
}
