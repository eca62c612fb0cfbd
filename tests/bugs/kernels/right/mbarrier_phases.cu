//@ right: mbarrier in PTX with alternating parities over several phases.
//@ class: race
//@ buffer: out i32[64] = none
//@ launch: phases<<<1, 64>>>(out, 5)
//@ expect: out = sum(((i + k + 1) % 64) + k * 64 for k in range(5))

__device__ __forceinline__ void wait_parity(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; "
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

__global__ void phases(int* out, int count) {
    __shared__ unsigned long long barrier;
    __shared__ int s[2][64];
    const unsigned b = (unsigned)__cvta_generic_to_shared(&barrier);
    const int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(b) : "memory");
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < count; ++k) {
        s[k & 1][t] = k * 64 + t;
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(b) : "memory");
        wait_parity(b, k & 1);
        sum += s[k & 1][(t + k + 1) % 64];
    }
    out[t] = sum;
}
