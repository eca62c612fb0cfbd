//@ bug: The lock is taken by compare-and-swap but released by a plain store without a fence.
//@ class: race
//@ buffer: lock i32[1] = 0
//@ buffer: total i32[1] = 0
//@ launch: add<<<4, 32>>>(lock, total)

__global__ void add(int* lock, int* total) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {}  // BUG
    *total += blockIdx.x;  // BUG
    *lock = 0;  // BUG
}
