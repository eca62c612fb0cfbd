//@ right: Slots in shared memory get their first values by exchanges, and are swapped later.
//@ class: init
//@ buffer: out i32[64] = none
//@ launch: swap<<<1, 64>>>(out)
//@ expect: out = (i + 1) % 64 + 100

__global__ void swap(int* out) {
    __shared__ int slot[64];
    int t = threadIdx.x;
    atomicExch(&slot[t], 100 + t);
    __syncthreads();
    int got = atomicExch(&slot[(t + 1) % 64], -1);
    out[t] = got;
}
