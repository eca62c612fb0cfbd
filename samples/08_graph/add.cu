extern "C" __global__ void add(int* x, int amount, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += amount;
}
