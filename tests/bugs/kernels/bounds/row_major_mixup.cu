//@ bug: The row stride is the height instead of the width, so tall images are read past the end.
//@ class: bounds
//@ buffer: image f32[2400] = i
//@ buffer: sums f32[60] = 0
//@ launch: row_sums<<<1, 64>>>(image, sums, 40, 60)

__global__ void row_sums(const float* image, float* sums, int width, int height) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    float sum = 0;
    for (int x = 0; x < width; ++x)
        sum += image[y * height + x];  // BUG
    sums[y] = sum;
}
