//@ bug: Thread 0 reads the element before the array: the left neighbour isn't clamped.
//@ class: bounds
//@ buffer: in f32[512] = i
//@ buffer: out f32[512] = 0
//@ launch: smooth<<<2, 256>>>(in, out, 512)

__global__ void smooth(const float* __restrict__ in, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float left = in[i - 1];  // BUG
    float right = i + 1 < n ? in[i + 1] : in[i];
    out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
}
