//@ bug: The warp that would free tensor memory waits at a barrier for the warp that waits for the memory.
//@ class: hang
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
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 512;" ::"r"(
                         shared(&place))
                     : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned sums = place;
    if (warp == 1)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(
                         shared(&place))  // BUG
                     : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 512;" ::"r"(sums));
}
