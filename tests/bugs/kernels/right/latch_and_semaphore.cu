//@ right: A cuda::latch starts the consumers, and a counting semaphore admits two at a time.
//@ class: hang
//@ buffer: out i32[64] = 0
//@ buffer: most i32[1] = 0
//@ launch: gate<<<1, 64>>>(out, most)
//@ expect: out = 5
//@ holds: 1 <= most[0] <= 2

#include <cuda/latch>
#include <cuda/semaphore>

using Latch = cuda::latch<cuda::thread_scope_block>;
using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;

__global__ void gate(int* out, int* most) {
    __shared__ alignas(16) unsigned char memory[2][16];
    static_assert(sizeof(Latch) <= 16 && sizeof(Semaphore) <= 16);
    __shared__ int value, inside;
    Latch& ready = *reinterpret_cast<Latch*>(memory[0]);
    Semaphore& room = *reinterpret_cast<Semaphore*>(memory[1]);
    if (threadIdx.x == 0) {
        new (memory[0]) Latch(1);
        new (memory[1]) Semaphore(2);
        inside = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        value = 5;
        ready.count_down();
    }
    ready.wait();
    room.acquire();
    atomicMax(most, atomicAdd(&inside, 1) + 1);
    out[threadIdx.x] = value;
    atomicSub(&inside, 1);
    room.release();
}
