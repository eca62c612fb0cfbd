//@ bug: The last plane reads the plane above it; only x and y are checked.
//@ class: bounds
//@ buffer: t f32[4096] = i
//@ buffer: next f32[4096] = 0
//@ launch: heat<<<(2, 2, 2), (8, 8, 8)>>>(t, next, 16)

__global__ void heat(const float* t, float* next, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1) return;
    int i = (z * n + y) * n + x, plane = n * n;
    next[i] = t[i] + 0.1f * (t[i - 1] + t[i + 1] + t[i - n] + t[i + n] + t[i - plane]
                             + t[i + plane] - 6 * t[i]);  // BUG
}
