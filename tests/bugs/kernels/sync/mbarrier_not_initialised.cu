//@ bug: Threads arrive at a barrier object that nobody has initialised.
//@ class: sync
//@ buffer: out i32[32] = 0
//@ launch: start<<<1, 32>>>(out)

__global__ void start(int* out) {
    __shared__ unsigned long long barrier;
    unsigned b = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b) : "memory");  // BUG
    out[threadIdx.x] = state != 0;
}
