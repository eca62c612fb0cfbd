//@ bug: Only the first half of the tile is loaded, and all of it is summed.
//@ class: init
//@ buffer: in f32[64] = 1
//@ buffer: out f32[1] = 0
//@ launch: total<<<1, 64>>>(in, out)

__global__ void total(const float* in, float* out) {
    __shared__ float s[128];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int k = 0; k < 128; ++k) sum += s[k];  // BUG
        *out = sum;
    }
}
