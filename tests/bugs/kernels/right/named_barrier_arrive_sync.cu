//@ right: The producer warp only arrives, the consumer warp waits; a second barrier frees the slot.
//@ class: sync
//@ buffer: data i32[128] = i
//@ buffer: out i32[128] = none
//@ launch: relay<<<1, 64>>>(data, out, 4)
//@ expect: out = data[i // 32 * 32 + 31 - i % 32]

#define ARRIVE(id) asm volatile("barrier.arrive " #id ", 64;" ::: "memory")
#define WAIT(id) asm volatile("barrier.sync " #id ", 64;" ::: "memory")

__global__ void relay(const int* in, int* out, int rounds) {
    __shared__ int slot[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int k = 0; k < rounds; ++k) {
            if (k > 0) WAIT(2);
            slot[lane] = in[k * 32 + lane];
            ARRIVE(1);
        }
    } else {
        for (int k = 0; k < rounds; ++k) {
            WAIT(1);
            out[k * 32 + lane] = slot[31 - lane];
            if (k + 1 < rounds) ARRIVE(2);
        }
    }
}
