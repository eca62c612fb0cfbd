//@ right: One block fills a ring of slots and another empties it, with acquire and release.
//@ class: race
//@ buffer: ring i32[4] = 0
//@ buffer: head u32[1] = 0
//@ buffer: tail u32[1] = 0
//@ buffer: out i32[32] = none
//@ launch: ring_buffer<<<2, 32>>>(ring, head, tail, out, u32:32)
//@ expect: out = i * i

#include <cuda/atomic>

using Index = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

__global__ void ring_buffer(int* ring, unsigned* head_word, unsigned* tail_word, int* out,
                            unsigned count) {
    if (threadIdx.x != 0) return;
    Index head(*head_word), tail(*tail_word);
    if (blockIdx.x == 0) {
        for (unsigned k = 0; k < count; ++k) {
            while (k - tail.load(cuda::memory_order_acquire) >= 4) {}
            ring[k % 4] = k * k;
            head.store(k + 1, cuda::memory_order_release);
        }
    } else {
        for (unsigned k = 0; k < count; ++k) {
            while (head.load(cuda::memory_order_acquire) <= k) {}
            out[k] = ring[k % 4];
            tail.store(k + 1, cuda::memory_order_release);
        }
    }
}
