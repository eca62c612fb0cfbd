//@ bug: The producer arrives at barrier 2, and the consumer waits at barrier 1.
//@ class: sync
//@ buffer: out i32[32] = 0
//@ launch: handoff<<<1, 64>>>(out)

__global__ void handoff(int* out) {
    __shared__ int mail[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        mail[lane] = lane * 2;
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // BUG
        out[lane] = mail[lane];
    }
}
