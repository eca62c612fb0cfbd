//@ right: A ticket lock: tickets by atomicAdd, service by a release increment.
//@ class: hang
//@ buffer: next u32[1] = 0
//@ buffer: serving u32[1] = 0
//@ buffer: order i32[12] = -1
//@ buffer: length i32[1] = 0
//@ launch: append<<<12, 32>>>(next, serving, order, length)
//@ holds: sorted(order) == list(range(12)) and length[0] == 12

#include <cuda/atomic>

__global__ void append(unsigned* next, unsigned* serving, int* order, int* length) {
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> now(*serving);
    unsigned mine = atomicAdd(next, 1u);
    while (now.load(cuda::memory_order_acquire) != mine) {}
    order[(*length)++] = blockIdx.x;
    now.fetch_add(1, cuda::memory_order_release);
}
