//@ bug: Every block resets the common counter, also while others already count.
//@ class: race
//@ buffer: count i32[1] = 9
//@ buffer: out i32[4] = 0
//@ launch: tally<<<4, 64>>>(count, out)

__global__ void tally(int* count, int* out) {
    if (threadIdx.x == 0) *count = 0;  // BUG
    __syncthreads();
    atomicAdd(count, 1);  // BUG
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(count, 0);
}
