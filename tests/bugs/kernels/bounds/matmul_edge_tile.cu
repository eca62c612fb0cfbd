//@ bug: A 20 x 20 product with tiles of 16: the loads of the edge tiles aren't guarded.
//@ class: bounds
//@ buffer: a f32[400] = i % 5
//@ buffer: b f32[400] = i % 3
//@ buffer: c f32[400] = 0
//@ launch: matmul<<<(2, 2), (16, 16)>>>(a, b, c, 20)

#define TILE 16

__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        sa[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];  // BUG
        sb[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];  // BUG
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
