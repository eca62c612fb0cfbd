//@ bug: A named barrier waits for 128 threads, and the block has 64.
//@ class: hang
//@ buffer: out i32[64] = 0
//@ launch: wait<<<1, 64>>>(out)

__global__ void wait(int* out) {
    asm volatile("barrier.sync 5, 128;" ::: "memory");  // BUG
    out[threadIdx.x] = 1;
}
