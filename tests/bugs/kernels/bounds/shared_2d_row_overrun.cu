//@ bug: The column loop runs to 17 in rows of 16, so it writes the next row's first element.
//@ class: bounds
//@ buffer: out f32[256] = 0
//@ launch: clear_rows<<<1, 16>>>(out)

__global__ void clear_rows(float* out) {
    __shared__ float grid[16][16];
    int row = threadIdx.x;
    for (int col = 0; col < 17; ++col)
        grid[row][col] = row;  // BUG
    __syncthreads();
    for (int col = 0; col < 16; ++col) out[row * 16 + col] = grid[row][col];
}
