//@ bug: The first warp reads 32 warps' sums, but the block has only 4 warps.
//@ class: init
//@ buffer: in i32[128] = i
//@ buffer: out i32[1] = 0
//@ launch: total<<<1, 128>>>(in, out)

__global__ void total(const int* in, int* out) {
    __shared__ int warp_sum[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
    if (lane == 0) warp_sum[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = __reduce_add_sync(0xffffffff, warp_sum[lane]);  // BUG
        if (lane == 0) *out = v;
    }
}
