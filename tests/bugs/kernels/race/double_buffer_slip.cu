//@ bug: The next tile is loaded into the buffer that is being read, not into the other one.
//@ class: race
//@ buffer: in f32[512] = i
//@ buffer: out f32[64] = 0
//@ launch: running<<<1, 64>>>(in, out, 8)

__global__ void running(const float* in, float* out, int tiles) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    float sum = 0;
    buffer[0][t] = in[t];
    __syncthreads();
    for (int k = 0; k < tiles; ++k) {
        int now = k & 1;
        if (k + 1 < tiles) buffer[now][t] = in[(k + 1) * 64 + t];  // BUG
        sum += buffer[now][63 - t];  // BUG
        __syncthreads();
    }
    out[t] = sum;
}
