//@ bug: The thread count of a named barrier must be a multiple of 32, and is 48.
//@ class: sync
//@ buffer: out i32[64] = 0
//@ launch: odd_count<<<1, 64>>>(out, 48)

__global__ void odd_count(int* out, int count) {
    if (threadIdx.x < count)
        asm volatile("barrier.sync 1, %0;" ::"r"(count) : "memory");  // BUG
    out[threadIdx.x] = 1;
}
