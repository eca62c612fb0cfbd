//@ bug: The bias is optional, and the kernel doesn't test the null pointer that the host passes.
//@ class: bounds
//@ buffer: x f32[128] = i
//@ launch: add_bias<<<1, 128>>>(x, u64:0, 128)

__global__ void add_bias(float* x, const float* bias, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += bias[i];  // BUG
}
