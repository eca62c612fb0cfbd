// Rotates an image about its centre, as in section 3.2.11.1 of the CUDA C++ Programming Guide: the
// texture unit interpolates, and wraps around at the edges.
extern "C" __global__ void rotate(cudaTextureObject_t image, float* output, int width, int height,
                                  float sine, float cosine) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float u = x / static_cast<float>(width) - 0.5F;
    const float v = y / static_cast<float>(height) - 0.5F;
    output[y * width + x] =
        tex2D<float>(image, u * cosine - v * sine + 0.5F, v * cosine + u * sine + 0.5F);
}
