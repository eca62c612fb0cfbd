//@ right: All entries of a table in constant memory are read, the last one too.
//@ class: bounds
//@ buffer: data f32[68] = i
//@ buffer: out f32[64] = none
//@ launch: filter<<<1, 64>>>(data, out)
//@ expect: out = float(data[i] + 2 * data[i + 1] + 3 * data[i + 2] + 2 * data[i + 3] + data[i + 4])

__constant__ float taps[5] = {1, 2, 3, 2, 1};

__global__ void filter(const float* in, float* out) {
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += taps[k] * in[threadIdx.x + k];
    out[threadIdx.x] = sum;
}
