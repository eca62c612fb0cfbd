//@ bug: The sums of a warpgroup's product are added to before the product is waited for.
//@ class: race
//@ target: sm_90a
//@ buffer: out f32[512] = 0
//@ launch: product<<<1, 128>>>(out)

// Matrices of ones without a swizzle: 64 x 16 and 16 x 8 halves.
__device__ unsigned long long descriptor(const void* at) {
    const unsigned long long address = __cvta_generic_to_shared(at);
    return address >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
__device__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
__device__ void multiply(float (&d)[4], const void* a, const void* b, int adds) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"  // BUG
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(descriptor(a)), "l"(descriptor(b)), "r"(adds)
        : "memory");
}

__global__ void product(float* out) {
    __shared__ alignas(128) unsigned a[2][512], b[2][64];
    const int t = threadIdx.x;
    for (int i = t; i < 512; i += 128)
        a[0][i] = a[1][i] = 0x3c003c00;
    if (t < 64) b[0][t] = b[1][t] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4] = {};
    begin();
    multiply(d, a[0], b[0], 0);
    commit();
    for (int i = 0; i < 4; ++i)
        out[4 * t + i] = d[i] + 1;  // BUG
    wait<0>();
}
