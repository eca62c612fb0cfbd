extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= n || row >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
template <class T, int tile>
__device__ void tiled(const T* a, const T* b, T* c, int n) {
    __shared__ T as[tile][tile], bs[tile][tile];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * tile + tx, row = blockIdx.y * tile + ty;
    T sum = 0;
    for (int k = 0; k < n; k += tile) {
        as[ty][tx] = a[row * n + k + tx];
        bs[ty][tx] = b[(k + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < tile; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
extern "C" __global__ void matmul_tiled16(const float* a, const float* b, float* c, int n) {
    tiled<float, 16>(a, b, c, n);
}
extern "C" __global__ void matmul_tiled32(const float* a, const float* b, float* c, int n) {
    tiled<float, 32>(a, b, c, n);
}
extern "C" __global__ void matmul_double(const double* a, const double* b, double* c, int n) {
    tiled<double, 16>(a, b, c, n);
}
