//@ right: cuda::barrier pairs, one for full and one for empty buffers, between two warps.
//@ class: race
//@ buffer: data i32[256] = i
//@ buffer: out i32[256] = none
//@ launch: relay<<<1, 64>>>(data, out, 8)
//@ expect: out = data[i] * 3

#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void relay(const int* in, int* out, int rounds) {
    __shared__ Barrier full[2], empty[2];
    __shared__ int slot[2][32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 2) {
        init(&full[threadIdx.x], 64);
        init(&empty[threadIdx.x], 64);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int k = 0; k < rounds; ++k) {
            empty[k % 2].arrive_and_wait();
            slot[k % 2][lane] = in[k * 32 + lane];
            (void)full[k % 2].arrive();
        }
    } else {
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int k = 0; k < rounds; ++k) {
            full[k % 2].arrive_and_wait();
            out[k * 32 + lane] = 3 * slot[k % 2][31 - (31 - lane)];
            if (k + 2 < rounds) (void)empty[k % 2].arrive();
        }
    }
}
