//@ bug: The block's scratch memory is freed by thread 0 and again by the last thread.
//@ class: bounds
//@ buffer: out i32[64] = 0
//@ launch: scratch<<<1, 64>>>(out)

__global__ void scratch(int* out) {
    __shared__ int* memory;
    if (threadIdx.x == 0) memory = (int*)malloc(64 * sizeof(int));
    __syncthreads();
    memory[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = memory[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(memory);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) free(memory);  // BUG
}
