extern "C" __global__ void softmax(const float* in, float* out, int width) {
    __shared__ float part[32];
    const float* row = in + blockIdx.x * width;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float top = -1e30f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) top = fmaxf(top, row[i]);
    for (int s = 16; s > 0; s /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, s));
    if (lane == 0) part[warp] = top;
    __syncthreads();
    for (int w = 0; w < warps; ++w) top = fmaxf(top, part[w]);
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += __expf(row[i] - top);
    for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < warps; ++w) sum += part[w];
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        out[blockIdx.x * width + i] = __expf(row[i] - top) / sum;
    }
}
