//@ right: Threads past the end return at once; no barrier or warp operation follows.
//@ class: sync
//@ buffer: data f32[777] = i
//@ buffer: out f32[777] = none
//@ launch: square<<<4, 256>>>(data, out, 777)
//@ expect: out = float(data[i] * data[i])

__global__ void square(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = in[i] * in[i];
}
