//@ bug: Rows of 30 floats are read as float4, and every second row starts between two of them.
//@ class: alignment
//@ buffer: image f32[480] = i
//@ buffer: out f32[16] = 0
//@ launch: row_sums<<<1, 16>>>(image, out, 30)

__global__ void row_sums(const float* image, float* out, int width) {
    const float* row = image + threadIdx.x * width;
    float sum = 0;
    int x = 0;
    for (; x + 4 <= width; x += 4) {
        float4 v = *(const float4*)(row + x);  // BUG
        sum += v.x + v.y + v.z + v.w;
    }
    for (; x < width; ++x) sum += row[x];
    out[threadIdx.x] = sum;
}
