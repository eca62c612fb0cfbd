//@ right: All threads of a warp take one lock; the critical section lies inside the loop.
//@ class: hang
//@ buffer: lock i32[1] = 0
//@ buffer: count i32[1] = 0
//@ launch: increment<<<2, 64>>>(lock, count)
//@ expect: count = 128

__global__ void increment(int* lock, int* count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int*)count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
