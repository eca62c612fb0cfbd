//@ bug: The mask is taken before some lanes leave the loop, and used after they have left.
//@ class: sync
//@ buffer: in i32[32] = i
//@ buffer: out i32[32] = 0
//@ launch: drain<<<1, 32>>>(in, out)

__global__ void drain(const int* in, int* out) {
    int work = in[threadIdx.x] % 5;
    unsigned mask = __activemask();
    while (work > 0) {
        int most = __reduce_max_sync(mask, work);  // BUG
        out[threadIdx.x] += most;
        --work;
    }
    out[threadIdx.x] += __shfl_xor_sync(mask, in[threadIdx.x], 1);
}
