//@ bug: A function takes the lock that its caller already holds.
//@ class: hang
//@ buffer: lock i32[1] = 0
//@ buffer: log i32[4] = 0
//@ launch: append<<<1, 1>>>(lock, log)

__device__ void acquire(int* lock) {
    while (atomicExch(lock, 1) != 0) {}  // BUG
}

__device__ void store(int* lock, int* log, int value) {
    acquire(lock);
    log[value] = value;
    atomicExch(lock, 0);
}

__global__ void append(int* lock, int* log) {
    acquire(lock);
    store(lock, log, 2);
    atomicExch(lock, 0);
}
