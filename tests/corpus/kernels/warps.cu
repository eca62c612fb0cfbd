extern "C" __global__ void votes(const int* in, unsigned* out) {
    int t = threadIdx.x, v = in[t];
    unsigned* o = out + t * 8;
    o[0] = __ballot_sync(~0u, v & 1);
    o[1] = __any_sync(~0u, v > 90) + 2 * __all_sync(~0u, v < 1000);
    o[2] = __match_any_sync(~0u, v % 4);
    int same;
    o[3] = __match_all_sync(~0u, t < 32 ? v % 2 : 7, &same);
    o[3] = o[3] ^ (same * 5u);
    o[4] = __shfl_sync(~0u, v, (t * 7) % 32);
    o[5] = __shfl_xor_sync(~0u, v, 5, 16);
    o[6] = __shfl_up_sync(~0u, v, 3, 8);
    // Halves of the warp diverge and call with masks of their own.
    if (t % 32 < 16) {
        o[7] = __ballot_sync(0x0000ffffu, v & 2);
    } else {
        o[7] = __ballot_sync(0xffff0000u, v & 4);
    }
}
extern "C" __global__ void counts(const int* in, int* out) {
    int v = in[threadIdx.x];
    out[threadIdx.x * 3] = __syncthreads_count(v % 3 == 0);
    out[threadIdx.x * 3 + 1] = __syncthreads_and(v >= 0);
    out[threadIdx.x * 3 + 2] = __syncthreads_or(v == 17);
}
