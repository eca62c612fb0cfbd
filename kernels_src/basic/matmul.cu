// c = a * b for row-major float matrices: a is m x k, b is k x n, c is m x n.
//
// Launched with blocks of 16 x 16 threads, one per element of c: grid = (ceil(n / 16), ceil(m /
// 16)). Each block walks along k in steps of 16 and keeps one tile of a and one of b in shared
// memory. So it reads each element from global memory once instead of 16 times (Best Practices
// Guide 9.2.2.2). Sizes that aren't multiples of 16 are padded with zeros.
constexpr int tile_size = 16;

extern "C" __global__ void __launch_bounds__(tile_size* tile_size)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
           int n, int k) {
    __shared__ float a_tile[tile_size][tile_size];
    __shared__ float b_tile[tile_size][tile_size];

    const int x = static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(threadIdx.y);
    const int row = static_cast<int>(blockIdx.y) * tile_size + y;
    const int column = static_cast<int>(blockIdx.x) * tile_size + x;

    float sum = 0.0f;
    for (int start = 0; start < k; start += tile_size) {
        const bool a_inside = row < m && start + x < k;
        const bool b_inside = start + y < k && column < n;
        a_tile[y][x] = a_inside ? a[static_cast<long long>(row) * k + start + x] : 0.0f;
        b_tile[y][x] = b_inside ? b[static_cast<long long>(start + y) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < tile_size; ++i) {
            sum += a_tile[y][i] * b_tile[i][x];
        }
        __syncthreads();  // Before the next step overwrites the tiles.
    }
    if (row < m && column < n) c[static_cast<long long>(row) * n + column] = sum;
}
