//@ bug: Only the lower triangle of a local matrix is computed, and the product uses all of it.
//@ class: init
//@ buffer: a f32[36] = i + 1
//@ buffer: y f32[32] = 0
//@ launch: multiply<<<1, 32>>>(a, y, 6)

__global__ void multiply(const float* a, float* y, int n) {
    float m[6][6];
    for (int r = 0; r < n; ++r)
        for (int c = 0; c <= r; ++c) m[r][c] = a[r * n + c] + threadIdx.x;
    float sum = 0;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) sum += m[r][c] * (c + 1);  // BUG
    y[threadIdx.x] = sum;
}
