//@ bug: Both arrays are walked with the length of the longer one.
//@ class: bounds
//@ buffer: a f64[300] = i
//@ buffer: b f64[200] = i
//@ buffer: out f64[300] = 0
//@ launch: add<<<2, 64>>>(a, b, out, 300)

__global__ void add(const double* a, const double* b, double* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a[i] + b[i];  // BUG
}
