//@ bug: The halo is loaded after the barrier that should protect it.
//@ class: race
//@ buffer: in f32[258] = i
//@ buffer: out f32[256] = 0
//@ launch: blur<<<2, 128>>>(in, out)

__global__ void blur(const float* in, float* out) {
    __shared__ float s[130];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = in[i];
    __syncthreads();
    if (t < 2) s[128 + t] = in[i + 128];  // BUG
    out[i] = (s[t] + s[t + 1] + s[t + 2]) / 3;  // BUG
}
