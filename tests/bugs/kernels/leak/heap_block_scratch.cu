//@ bug: Thread 0 allocates the block's scratch memory, and the pointer dies with the block.
//@ class: leak
//@ buffer: out i32[128] = 0
//@ launch: reverse<<<2, 64>>>(out)

__global__ void reverse(int* out) {
    __shared__ int* scratch;
    if (threadIdx.x == 0) scratch = (int*)malloc(blockDim.x * sizeof(int));  // BUG
    __syncthreads();
    scratch[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}
