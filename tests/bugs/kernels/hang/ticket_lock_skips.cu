//@ bug: Releasing a ticket lock adds 2 instead of 1, so every second ticket is never served.
//@ class: hang
//@ buffer: next i32[1] = 0
//@ buffer: serving i32[1] = 0
//@ buffer: out i32[1] = 0
//@ launch: count<<<4, 32>>>(next, serving, out)

__global__ void count(int* next, int* serving, int* out) {
    if (threadIdx.x != 0) return;
    int ticket = atomicAdd(next, 1);
    while (atomicAdd(serving, 0) != ticket) {}  // BUG
    __threadfence();
    *(volatile int*)out += 1;
    __threadfence();
    atomicAdd(serving, 2);  // BUG
}
