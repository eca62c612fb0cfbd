//@ right: A scan in volatile shared memory, with warp barriers between reads and writes.
//@ class: race
//@ buffer: in i32[32] = i
//@ buffer: out i32[32] = none
//@ launch: scan<<<1, 32>>>(in, out)
//@ expect: out = i * (i + 1) // 2

__global__ void scan(const int* in, int* out) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        int left = t >= d ? s[t - d] : 0;
        __syncwarp();
        s[t] += left;
        __syncwarp();
    }
    out[t] = s[t];
}
