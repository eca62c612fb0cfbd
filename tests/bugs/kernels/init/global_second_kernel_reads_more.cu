//@ bug: The first kernel fills n - n % 32 elements, and the second reads all n.
//@ class: init
//@ buffer: a f32[100] = none
//@ buffer: b f32[100] = 0
//@ launch: fill<<<3, 32>>>(a)
//@ launch: twice<<<1, 128>>>(a, b, 100)

__global__ void fill(float* a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

__global__ void twice(const float* a, float* b, int n) {
    int i = threadIdx.x;
    if (i < n) b[i] = 2 * a[i];  // BUG
}
