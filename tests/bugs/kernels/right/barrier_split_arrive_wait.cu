//@ right: Threads arrive, do independent work, and wait only before they read their neighbours.
//@ class: race
//@ buffer: data f32[128] = i
//@ buffer: out f32[128] = none
//@ launch: split<<<1, 128>>>(data, out)
//@ expect: out = float(data[(i + 1) % 128] + i * 0.5)

#include <cuda/barrier>

__global__ void split(const float* data, float* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float s[128];
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[t] = data[t];
    auto token = bar.arrive();
    float own = t * 0.5f;
    bar.wait(std::move(token));
    out[t] = s[(t + 1) % 128] + own;
}
