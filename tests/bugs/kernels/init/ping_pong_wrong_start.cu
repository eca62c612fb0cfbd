//@ bug: The first iteration reads the buffer that only later iterations fill.
//@ class: init
//@ buffer: a f32[64] = i
//@ buffer: b f32[64] = none
//@ launch: relax<<<1, 64>>>(a, b, 4)

__global__ void relax(float* a, float* b, int steps) {
    float* from = b;
    float* to = a;
    int i = threadIdx.x;
    for (int k = 0; k < steps; ++k) {
        float v = 0.5f * (from[i] + from[(i + 1) % 64]);  // BUG
        to[i] = v;
        __syncthreads();
        float* other = from;
        from = to;
        to = other;
    }
}
