//@ right: Relaxed atomics between two fences of device scope pass a message between blocks.
//@ class: race
//@ buffer: box i32[32] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[32] = none
//@ launch: pass<<<2, 32>>>(box, flag, out)
//@ expect: out = 7 * (31 - i)

#include <cuda/atomic>

__global__ void pass(int* box, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = 7 * t;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
        f.fetch_add(1, cuda::memory_order_relaxed);
    } else {
        while (f.load(cuda::memory_order_relaxed) < 32) {}
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
        out[t] = box[31 - t];
    }
}
