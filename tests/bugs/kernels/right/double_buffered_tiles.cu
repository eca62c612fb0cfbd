//@ right: The next tile goes into the other buffer, with one barrier for each round.
//@ class: race
//@ buffer: data f32[512] = i
//@ buffer: out f32[64] = none
//@ launch: running<<<1, 64>>>(data, out, 8)
//@ expect: out = float(sum(data[64 * k + 63 - i] for k in range(8)))

__global__ void running(const float* in, float* out, int tiles) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    float sum = 0;
    buffer[0][t] = in[t];
    __syncthreads();
    for (int k = 0; k < tiles; ++k) {
        int now = k & 1;
        if (k + 1 < tiles) buffer[now ^ 1][t] = in[(k + 1) * 64 + t];
        sum += buffer[now][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
