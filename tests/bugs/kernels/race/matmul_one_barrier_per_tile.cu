//@ bug: The tile is overwritten by the next load while slower threads still multiply.
//@ class: race
//@ buffer: a f32[1024] = i % 7
//@ buffer: b f32[1024] = i % 5
//@ buffer: c f32[1024] = 0
//@ launch: matmul<<<(2, 2), (16, 16)>>>(a, b, c, 32)

#define TILE 16

__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int m = 0; m < n / TILE; ++m) {
        as[ty][tx] = a[row * n + m * TILE + tx];  // BUG
        bs[ty][tx] = b[(m * TILE + ty) * n + col];  // BUG
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += as[ty][k] * bs[k][tx];  // BUG
    }
    c[row * n + col] = sum;
}
