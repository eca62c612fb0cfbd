//@ bug: The loop over the filter's taps is inclusive and reads one past the constant array.
//@ class: bounds
//@ buffer: in f32[300] = i
//@ buffer: out f32[256] = 0
//@ launch: filter<<<1, 256>>>(in, out, 5)

__constant__ float taps[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};

__global__ void filter(const float* in, float* out, int count) {
    int i = threadIdx.x;
    float sum = 0;
    for (int k = 0; k <= count; ++k)
        sum += taps[k] * in[i + k];  // BUG
    out[i] = sum;
}
