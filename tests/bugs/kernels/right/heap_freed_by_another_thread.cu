//@ right: Thread 0 allocates for the block, and the last thread frees after a barrier.
//@ class: leak
//@ buffer: out i32[128] = none
//@ launch: reverse<<<2, 64>>>(out)
//@ expect: out = 63 - i % 64

__global__ void reverse(int* out) {
    __shared__ int* scratch;
    if (threadIdx.x == 0) scratch = new int[blockDim.x];
    __syncthreads();
    scratch[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) delete[] scratch;
}
