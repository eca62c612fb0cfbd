//@ right: The last warp reduces in shared memory with __syncwarp between reads and writes.
//@ class: race
//@ buffer: data i32[64] = i
//@ buffer: out i32[1] = none
//@ launch: reduce<<<1, 64>>>(data, out)
//@ expect: out = sum(data)

__global__ void reduce(const int* in, int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t >= 32) return;
    int v = s[t];
    v += s[t + 32];
    __syncwarp();
    for (int h = 16; h > 0; h >>= 1) {
        s[t] = v;
        __syncwarp();
        if (t + h < 32) v += s[t + h];
        __syncwarp();
    }
    if (t == 0) *out = v;
}
