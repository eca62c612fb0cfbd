//@ bug: The consumer waits for parity 1, which a fresh mbarrier reports as complete at once.
//@ class: race
//@ buffer: out i32[32] = 0
//@ launch: handoff<<<1, 64>>>(out)

__device__ void wait_parity(unsigned barrier, int parity) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
        "@!p bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

__global__ void handoff(int* out) {
    __shared__ unsigned long long barrier;
    __shared__ int box[32];
    unsigned b = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(b) : "memory");
    __syncthreads();
    if (threadIdx.x < 32) {
        box[threadIdx.x] = 3 * threadIdx.x;  // BUG
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(b) : "memory");
    } else {
        wait_parity(b, 1);
        out[threadIdx.x - 32] = box[63 - threadIdx.x];  // BUG
    }
}
