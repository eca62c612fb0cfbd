//@ bug: A kernel loads from tensor memory that it has just allocated.
//@ class: init
//@ target: sm_100a
//@ buffer: out f32[2048] = 0
//@ launch: tensor<<<1, 128>>>(out)

__device__ unsigned shared(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__global__ void tensor(float* out) {
    __shared__ unsigned place;
    const int t = threadIdx.x, warp = t / 32;
    if (warp == 0)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(
                         shared(&place))
                     : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned sums = place;
    float d[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(sums + (warp << 21))  // BUG
                 : "memory");
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int i = 0; i < 4; ++i)
        out[4 * t + i] = d[i];
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(sums));
}
