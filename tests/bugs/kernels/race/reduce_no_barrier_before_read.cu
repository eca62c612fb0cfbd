//@ bug: No barrier between the stores of all threads and the first step of the tree.
//@ class: race
//@ buffer: in f32[256] = 1
//@ buffer: out f32[1] = 0
//@ launch: reduce<<<1, 256>>>(in, out)

__global__ void reduce(const float* in, float* out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[t];  // BUG
    for (int h = 128; h > 0; h >>= 1) {
        if (t < h) s[t] += s[t + h];  // BUG
        __syncthreads();
    }
    if (t == 0) *out = s[0];
}
