//@ right: A one-dimensional stencil with a halo of three cells, zero outside of the array.
//@ class: bounds
//@ buffer: data f32[300] = i % 10
//@ buffer: out f32[300] = none
//@ launch: stencil<<<5, 64>>>(data, out, 300)
//@ expect: out = float(sum(data[k] for k in range(max(0, i - 3), min(300, i + 4))))

#define RADIUS 3

__global__ void stencil(const float* in, float* out, int n) {
    __shared__ float s[64 + 2 * RADIUS];
    int i = blockIdx.x * blockDim.x + threadIdx.x, local = threadIdx.x + RADIUS;
    s[local] = i < n ? in[i] : 0.f;
    if (threadIdx.x < RADIUS) {
        s[local - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.f;
        s[local + 64] = i + 64 < n ? in[i + 64] : 0.f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k) sum += s[local + k];
    out[i] = sum;
}
