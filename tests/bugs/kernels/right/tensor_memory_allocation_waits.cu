//@ right: A warp waits for tensor memory until another warp frees it.
//@ class: hang
//@ target: sm_100a
//@ buffer: out f32[2048] = 0
//@ launch: tensor<<<1, 128>>>(out)
//@ expect: out = 1.0 if 32 <= i < 64 else 0.0

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
    if (warp == 1) {
        __shared__ unsigned other;
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(
                         shared(&other))
                     : "memory");
        __syncwarp();
        const unsigned mine = other;
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(mine));
        out[t] = 1;
    }
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 512;" ::"r"(sums));
}
