//@ right: A lock taken with acquire and given back with release protects a plain counter.
//@ class: race
//@ buffer: lock i32[1] = 0
//@ buffer: total i32[1] = 0
//@ launch: add<<<16, 32>>>(lock, total)
//@ expect: total = sum(range(16))

#include <cuda/atomic>

__global__ void add(int* lock_word, int* total) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> lock(*lock_word);
    while (lock.exchange(1, cuda::memory_order_acquire) != 0) __nanosleep(50);
    *total += blockIdx.x;
    lock.store(0, cuda::memory_order_release);
}
