extern "C" __global__ void spmv(const int* row, const int* col, const float* value, const float* x,
                                float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int k = row[r]; k < row[r + 1]; ++k) sum += value[k] * x[col[k]];
    y[r] = sum;
}
extern "C" __global__ void lower_bounds(const int* sorted, int n, const int* key, int* at, int keys) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= keys) return;
    int low = 0, high = n;
    while (low < high) {
        int mid = (low + high) / 2;
        if (sorted[mid] < key[i]) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    at[i] = low;
}
__constant__ float weights[16];
__device__ int launches;
extern "C" __global__ void polynomial(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(&launches, 1);
    if (i >= n) return;
    float sum = 0;
    for (int k = 15; k >= 0; --k) sum = sum * x[i] + weights[k];
    y[i] = sum;
}
