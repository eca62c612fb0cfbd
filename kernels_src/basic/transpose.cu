// out[c][r] = in[r][c] for a row-major matrix of rows x columns floats.
//
// Launched with blocks of 32 x 8 threads, one block per tile of 32 x 32 elements:
// grid = (ceil(columns / 32), ceil(rows / 32)). Reads and writes are both coalesced: the tile is
// transposed in shared memory, whose rows are one element longer than the tile so that a column of
// it lies in 32 different banks (Best Practices Guide 9.2.2.3).
constexpr int tile_size = 32;
constexpr int block_rows = 8;

extern "C" __global__ void __launch_bounds__(tile_size* block_rows)
    transpose(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    __shared__ float tile[tile_size][tile_size + 1];

    const int column = static_cast<int>(blockIdx.x) * tile_size + static_cast<int>(threadIdx.x);
    const int first_row = static_cast<int>(blockIdx.y) * tile_size;
    for (int r = static_cast<int>(threadIdx.y); r < tile_size; r += block_rows) {
        const int row = first_row + r;
        if (row < rows && column < columns) {
            tile[r][threadIdx.x] = in[static_cast<long long>(row) * columns + column];
        }
    }
    __syncthreads();

    const int out_column = first_row + static_cast<int>(threadIdx.x);
    const int first_out_row = static_cast<int>(blockIdx.x) * tile_size;
    for (int r = static_cast<int>(threadIdx.y); r < tile_size; r += block_rows) {
        const int out_row = first_out_row + r;
        if (out_row < columns && out_column < rows) {
            out[static_cast<long long>(out_row) * rows + out_column] = tile[threadIdx.x][r];
        }
    }
}
