//@ bug: Threads load the sums of a product of tensor cores before its commit has been waited for.
//@ class: race
//@ target: sm_100a
//@ buffer: out f32[2048] = 0
//@ launch: tensor<<<1, 128>>>(out)

__device__ unsigned shared(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

// Matrices of ones without a swizzle: 128 x 16 and 16 x 16 halves.
__device__ unsigned long long descriptor(const void* at) {
    return 1ull << 46 | shared(at) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}

__device__ void multiply(unsigned sums, const void* a, const void* b, int adds) {
    constexpr unsigned instruction = 1u << 4 | 16u / 8 << 17 | 128u / 16 << 24;
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.s32 p, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}\n" ::"r"(sums),
        "l"(descriptor(a)), "l"(descriptor(b)), "r"(instruction), "r"(adds)
        : "memory");
}

__global__ void tensor(float* out) {
    __shared__ unsigned place;
    const int t = threadIdx.x, warp = t / 32;
    __shared__ alignas(128) unsigned a[1024], b[128];
    __shared__ alignas(8) unsigned long long done;
    for (int i = t; i < 1024; i += 128)
        a[i] = 0x3c003c00;
    b[t] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&done)) : "memory");
    if (warp == 0)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(
                         shared(&place))
                     : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned sums = place;
    if (t == 0) {
        for (int k = 0; k < 2; ++k)
            multiply(sums, a, b, k > 0);
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                shared(&done))
            : "memory");
    }
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    float d[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(sums + (warp << 21))  // BUG
                 : "memory");
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 4; ++i)
        out[4 * t + i] = d[i];
    asm volatile(
        "{\n.reg .pred p;\nagain:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra again;\n}\n" ::"r"(
            shared(&done))
        : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(sums));
}
