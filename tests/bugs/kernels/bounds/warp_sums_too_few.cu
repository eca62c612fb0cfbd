//@ bug: There is room for 8 warps' sums, and the block has 16 warps.
//@ class: bounds
//@ buffer: in i32[512] = 1
//@ buffer: out i32[1] = 0
//@ launch: total<<<1, 512>>>(in, out)

__global__ void total(const int* in, int* out) {
    __shared__ int warp_sum[8];
    int v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = v;  // BUG
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) sum += warp_sum[w];  // BUG
        *out = sum;
    }
}
