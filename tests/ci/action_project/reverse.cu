// Reverses each block's part of an array in shared memory.
extern "C" __global__ void reverse(int* values) {
    __shared__ int part[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = values[i];
#ifndef FORGET_THE_BARRIER
    __syncthreads();
#endif
    values[i] = part[blockDim.x - 1 - threadIdx.x];
}
