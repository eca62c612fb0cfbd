//@ bug: Partial sums are published by a relaxed ticket, without a fence between store and atomic.
//@ class: race
//@ buffer: in i32[512] = i
//@ buffer: partial i32[4] = 0
//@ buffer: ticket u32[1] = 0
//@ buffer: out i32[1] = 0
//@ launch: sum<<<4, 128>>>(in, partial, ticket, out)

__global__ void sum(const int* in, int* partial, unsigned* ticket, int* out) {
    __shared__ int s[128];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (int h = 64; h > 0; h /= 2) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];  // BUG
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += partial[b];  // BUG
        *out = total;
    }
}
