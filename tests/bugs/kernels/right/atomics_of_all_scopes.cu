//@ right: Counters of each scope: in shared memory by block, in global memory by device and system.
//@ class: race
//@ buffer: per_block i32[4] = none
//@ buffer: total i32[2] = 0
//@ buffer: pinned seen i32[1] = 0
//@ launch: count<<<4, 96>>>(per_block, total, seen)
//@ expect: per_block = 48
//@ holds: total == [4 * 96, 4 * 48] and seen == [4]

__global__ void count(int* per_block, int* total, int* seen) {
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    atomicAdd(&total[0], 1);
    if (threadIdx.x % 2) atomicAdd_block(&mine, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        per_block[blockIdx.x] = mine;
        atomicAdd(&total[1], mine);
        atomicAdd_system(seen, 1);
    }
}
