//@ bug: One path leaves the critical section without giving the lock back.
//@ class: hang
//@ buffer: lock i32[1] = 0
//@ buffer: balance i32[1] = 30
//@ launch: withdraw<<<8, 1>>>(lock, balance, 10)

__global__ void withdraw(int* lock, int* balance, int amount) {
    while (atomicCAS(lock, 0, 1) != 0) {}  // BUG
    __threadfence();
    int now = atomicAdd(balance, 0);
    if (now < amount) return;  // BUG
    atomicAdd(balance, -amount);
    __threadfence();
    atomicExch(lock, 0);
}
