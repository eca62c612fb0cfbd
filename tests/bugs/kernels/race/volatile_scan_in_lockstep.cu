//@ bug: A scan in volatile shared memory has no warp barrier between its reads and writes.
//@ class: race
//@ buffer: in i32[32] = i
//@ buffer: out i32[32] = 0
//@ launch: scan<<<1, 32>>>(in, out)

__global__ void scan(const int* in, int* out) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        if (t >= d) s[t] += s[t - d];  // BUG
    }
    out[t] = s[t];
}
