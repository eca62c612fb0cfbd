//@ bug: Doubles are placed after three floats in a pool of shared memory.
//@ class: alignment
//@ buffer: out f64[32] = 0
//@ launch: pool<<<1, 32>>>(out)

__global__ void pool(double* out) {
    __shared__ alignas(16) float memory[128];
    float* head = memory;
    double* values = reinterpret_cast<double*>(memory + 3);
    if (threadIdx.x < 3) head[threadIdx.x] = 1;
    values[threadIdx.x] = threadIdx.x * 0.5;  // BUG
    __syncthreads();
    out[threadIdx.x] = values[31 - threadIdx.x] + head[0];  // BUG
}
