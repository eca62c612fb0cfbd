//@ right: A tiled product with both barriers, padded tiles and guards at ragged edges.
//@ class: race
//@ buffer: a f32[800] = i % 7 - 3
//@ buffer: b f32[1000] = i % 5 - 2
//@ buffer: c f32[500] = none
//@ launch: matmul<<<(2, 2), (16, 16)>>>(a, b, c, 20, 40, 25)
//@ expect: c = float(sum(a[(i // 25) * 40 + k] * b[k * 25 + i % 25] for k in range(40)))

template <int TILE>
__device__ void product(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        as[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0;
        bs[ty][tx] = col < n && k0 + ty < k ? b[(k0 + ty) * n + col] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
    product<16>(a, b, c, m, k, n);
}
