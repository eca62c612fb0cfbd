//@ bug: The loop's step is computed by an integer division that gives zero.
//@ class: hang
//@ buffer: data f32[64] = 1
//@ buffer: out f32[32] = 0
//@ launch: sample<<<1, 32>>>(data, out, 64, 100)

__global__ void sample(const float* data, float* out, int n, int samples) {
    int step = n / samples;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += step)  // BUG
        sum += *(const volatile float*)(data + i);  // BUG
    out[threadIdx.x] = sum;
}
