//@ bug: One thread too many takes part and reads row_begin[rows + 1].
//@ class: bounds
//@ buffer: row_begin i32[33] = 2 * i
//@ buffer: value f32[64] = 1
//@ buffer: y f32[40] = 0
//@ launch: row_totals<<<1, 64>>>(row_begin, value, y, 32)

__global__ void row_totals(const int* row_begin, const float* value, float* y, int rows) {
    int row = threadIdx.x;
    if (row > rows) return;
    float total = 0;
    for (int k = row_begin[row]; k < row_begin[row + 1]; ++k)  // BUG
        total += value[k];
    y[row] = total;
}
