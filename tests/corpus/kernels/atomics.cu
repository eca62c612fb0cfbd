#include <cuda/atomic>
#include <cuda/barrier>

extern "C" __global__ void std_atomics(int* out, float* fsum, unsigned long long* wide) {
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(out[0]), top(out[1]), swap(out[2]);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sum.fetch_add(i, cuda::memory_order_relaxed);
    top.fetch_max(i);
    int old = swap.load();
    while (!swap.compare_exchange_weak(old, old + 2)) {
    }
    cuda::atomic_ref<float, cuda::thread_scope_device> f(fsum[0]);
    f.fetch_add(0.5f);
    atomicAdd(&wide[0], 1ull << 33);
    atomicMax(&wide[1], (unsigned long long)i << 20);
    atomicXor(&wide[2], 1ull << (i % 64));
    atomicInc((unsigned*)&out[3], 9);
    atomicDec((unsigned*)&out[4], 9);
}
extern "C" __global__ void std_barrier(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int a[128];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int v = threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        a[threadIdx.x] = v;
        bar.arrive_and_wait();
        v += a[(threadIdx.x + 1) % 128];
        bar.arrive_and_wait();
    }
    out[blockIdx.x * 128 + threadIdx.x] = v;
}
// A lock that every thread of the grid wants: it ends only if threads of a warp go on alone.
extern "C" __global__ void spin_lock(int* lock, int* counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int*)counter += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
// Block 0 waits for a flag that the last block sets.
extern "C" __global__ void wait_for_last(volatile int* flag, int* out) {
    if (blockIdx.x == 0) {
        while (*flag == 0) {
        }
        if (threadIdx.x == 0) out[0] = *flag;
    } else if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
        *flag = 42;
    }
}
