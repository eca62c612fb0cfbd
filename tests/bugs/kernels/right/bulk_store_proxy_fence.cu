//@ right: Each thread makes its stores visible to the asynchronous proxy before the barrier; a bulk copy reads them after it.
//@ class: race
//@ buffer: data i32[256] = 5 * i
//@ buffer: out i32[256] = 1
//@ launch: reverse<<<2, 128>>>(data, out)
//@ expect: out = data[i // 128 * 128 + 127 - i % 128]

__global__ void reverse(const int* in, int* out) {
    __shared__ alignas(16) int tile[128];
    const int t = threadIdx.x, base = blockIdx.x * 128;
    tile[127 - t] = in[base + t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                         out + base),
                     "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))), "r"(512)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
