//@ bug: The guard admits i == n, so one thread reads and writes one element past the end.
//@ class: bounds
//@ buffer: x f32[1000] = i
//@ buffer: y f32[1000] = 1
//@ launch: saxpy<<<4, 256>>>(x, y, 2.5f, 1000)

extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        y[i] = a * x[i] + y[i];  // BUG
}
