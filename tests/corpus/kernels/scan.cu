// Prefix sums of a block, twice: Hillis and Steele in shared memory, and by warps.
extern "C" __global__ void scan_shared(const int* in, int* out) {
    __shared__ int a[2][512];
    int t = threadIdx.x, from = 0;
    a[0][t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        a[1 - from][t] = a[from][t] + (t >= step ? a[from][t - step] : 0);
        from = 1 - from;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = a[from][t];
}
extern "C" __global__ void scan_warps(const int* in, int* out) {
    __shared__ int totals[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int v = in[blockIdx.x * blockDim.x + t];
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(~0u, v, step);
        if (lane >= step) v += other;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int w = lane < blockDim.x / 32 ? totals[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int other = __shfl_up_sync(~0u, w, step);
            if (lane >= step) w += other;
        }
        totals[lane] = w;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = v + (warp > 0 ? totals[warp - 1] : 0);
}
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned vote = __ballot_sync(~0u, keep);
    int lane = threadIdx.x % 32, base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(vote));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(vote & ((1u << lane) - 1))] = in[i];
}
