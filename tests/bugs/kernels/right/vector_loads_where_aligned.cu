//@ right: Rows that start at a multiple of 16 are read as float4, the others element by element.
//@ class: alignment
//@ buffer: image f32[480] = i % 13
//@ buffer: out f32[16] = none
//@ launch: row_sums<<<1, 16>>>(image, out, 30)
//@ expect: out = float(sum(image[30 * i:30 * i + 30]))

__global__ void row_sums(const float* image, float* out, int width) {
    const float* row = image + threadIdx.x * width;
    float sum = 0;
    int x = 0;
    if (reinterpret_cast<size_t>(row) % 16 == 0) {
        for (; x + 4 <= width; x += 4) {
            float4 v = *reinterpret_cast<const float4*>(row + x);
            sum += v.x + v.y + v.z + v.w;
        }
    }
    for (; x < width; ++x) sum += row[x];
    out[threadIdx.x] = sum;
}
