//@ bug: The flag is stored and read with relaxed order, so it doesn't publish the payload.
//@ class: race
//@ buffer: payload i32[32] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[32] = 0
//@ launch: publish<<<2, 32>>>(payload, flag, out)

#include <cuda/atomic>

__global__ void publish(int* payload, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        payload[t] = t + 1;  // BUG
        __syncwarp();
        if (t == 0) ready.store(1, cuda::memory_order_relaxed);
    } else {
        while (ready.load(cuda::memory_order_relaxed) == 0) {}
        out[t] = payload[31 - t];  // BUG
    }
}
