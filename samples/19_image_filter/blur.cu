// The mean of 5×5 pixels; the texture repeats the pixels at the edges.
extern "C" __global__ void blur(cudaTextureObject_t image, float* output, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx)
            sum += tex2D<float>(image, x + dx + 0.5F, y + dy + 0.5F);
    output[y * width + x] = sum / 25;
}
