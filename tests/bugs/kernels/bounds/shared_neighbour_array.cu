//@ bug: The halo of the first tile is written past its end, into the array declared after it.
//@ class: bounds
//@ buffer: in f32[256] = i
//@ buffer: weights f32[64] = 1
//@ buffer: out f32[256] = 0
//@ launch: weighted<<<4, 64>>>(in, weights, out, 256)

__global__ void weighted(const float* in, const float* weights, float* out, int n) {
    __shared__ float tile[64];
    __shared__ float scale[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    scale[t] = weights[t];
    __syncthreads();
    tile[t] = in[i];
    if (t < 2)
        tile[64 + t] = i + 64 < n ? in[i + 64] : 0.f;  // BUG
    __syncthreads();
    float next = t + 1 < 64 ? tile[t + 1] : tile[t];
    out[i] = (tile[t] + next) * scale[t];
}
