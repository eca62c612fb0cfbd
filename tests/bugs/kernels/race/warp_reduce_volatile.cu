//@ bug: The last warp reduces through volatile shared memory and trusts lockstep execution.
//@ class: race
//@ buffer: in i32[64] = i
//@ buffer: out i32[1] = 0
//@ launch: reduce<<<1, 64>>>(in, out)

__device__ void warp_reduce(volatile int* s, int t) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];  // BUG
    s[t] += s[t + 8];  // BUG
    s[t] += s[t + 4];  // BUG
    s[t] += s[t + 2];  // BUG
    s[t] += s[t + 1];  // BUG
}

__global__ void reduce(const int* in, int* out) {
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = in[t];
    if (t < 32) s[64 + t] = 0;
    __syncthreads();
    if (t < 32) warp_reduce(s, t);
    if (t == 0) *out = s[0];
}
