//@ bug: The lock is taken by a relaxed exchange and given back by a plain store, without fences.
//@ class: race
//@ buffer: lock i32[1] = 0
//@ buffer: total i32[1] = 0
//@ launch: add<<<8, 32>>>(lock, total)

__global__ void add(volatile int* lock, int* total) {
    if (threadIdx.x != 0) return;
    while (atomicExch((int*)lock, 1) != 0) {}
    *total += blockIdx.x;  // BUG
    *lock = 0;  // BUG
}
