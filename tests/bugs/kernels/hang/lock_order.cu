//@ bug: Two warps take two locks in opposite order and wait for each other.
//@ class: hang
//@ buffer: out i32[2] = 0
//@ launch: transfer<<<1, 64>>>(out)

__device__ void take(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {}  // BUG
}

__global__ void transfer(int* out) {
    __shared__ int lock[2];
    if (threadIdx.x < 2) lock[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    int first = threadIdx.x / 32, second = 1 - first;
    take(&lock[first]);
    __nanosleep(20000);
    take(&lock[second]);
    out[first] += 1;
    atomicExch(&lock[second], 0);
    atomicExch(&lock[first], 0);
}
