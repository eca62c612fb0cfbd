//@ right: A bulk copy to shared memory is announced to an mbarrier by its bytes, and waited for.
//@ class: race
//@ buffer: data i32[256] = 5 * i
//@ buffer: out i32[256] = none
//@ launch: bulk<<<2, 128>>>(data, out)
//@ expect: out = data[i // 128 * 128 + 127 - i % 128]

#include <cuda/barrier>

__global__ void bulk(const int* in, int* out) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(16) int tile[128];
    __shared__ Barrier bar;
    const int t = threadIdx.x, base = blockIdx.x * 128;
    if (t == 0) {
        init(&bar, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (t == 0) {
        cuda::device::memcpy_async_tx(tile, in + base, cuda::aligned_size_t<16>(sizeof tile), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
    } else {
        token = bar.arrive(1);
    }
    bar.wait(std::move(token));
    out[base + t] = tile[127 - t];
}
