//@ bug: One warp sums what another has put into volatile shared memory, without a barrier.
//@ class: race
//@ buffer: in i32[64] = i
//@ buffer: out i32[32] = 0
//@ launch: mix<<<1, 64>>>(in, out)

__global__ void mix(const int* in, int* out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = 2 * in[t];  // BUG
    if (t < 32) out[t] = s[t] + s[t + 32];  // BUG
}
