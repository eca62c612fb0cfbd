//@ bug: At the grid's edges no thread loads the halo cell, and the stencil reads it all the same.
//@ class: init
//@ buffer: in f32[256] = i
//@ buffer: out f32[256] = 0
//@ launch: stencil<<<4, 64>>>(in, out, 256)

__global__ void stencil(const float* in, float* out, int n) {
    __shared__ float s[66];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + 1] = in[i];
    if (t == 0 && i > 0) s[0] = in[i - 1];
    if (t == 63 && i + 1 < n) s[65] = in[i + 1];
    __syncthreads();
    out[i] = s[t] + s[t + 1] + s[t + 2];  // BUG
}
