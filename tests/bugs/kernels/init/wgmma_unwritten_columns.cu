//@ bug: Half of the right matrix of a warpgroup's product has never been written.
//@ class: init
//@ target: sm_90a
//@ buffer: out f32[512] = 0
//@ launch: product<<<1, 128>>>(out)

// Matrices of ones without a swizzle: 64 x 16 and 16 x 8 halves.
__device__ unsigned long long descriptor(const void* at) {
    const unsigned long long address = __cvta_generic_to_shared(at);
    return address >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}

__global__ void product(float* out) {
    __shared__ alignas(128) unsigned a[512], b[64];
    const int t = threadIdx.x;
    for (int i = t; i < 512; i += 128)
        a[i] = 0x3c003c00;
    if (t < 32) b[t] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(descriptor(a)), "l"(descriptor(b))  // BUG
        : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i)
        out[4 * t + i] = d[i];
}
