//@ right: Two halves of a block synchronise on barriers of their own, with different rounds.
//@ class: sync
//@ buffer: data i32[128] = i
//@ launch: rotate<<<1, 128>>>(data)
//@ expect: data = data[(i + 2) % 64] if i < 64 else data[64 + (i - 64 + 3) % 64]

__device__ void half_barrier(int half) {
    asm volatile("barrier.sync %0, 64;" ::"r"(half + 1) : "memory");
}

__global__ void rotate(int* data) {
    __shared__ int s[2][64];
    const int half = threadIdx.x / 64, t = threadIdx.x % 64;
    s[half][t] = data[threadIdx.x];
    half_barrier(half);
    for (int k = 0; k < 2 + half; ++k) {
        int v = s[half][(t + 1) % 64];
        half_barrier(half);
        s[half][t] = v;
        half_barrier(half);
    }
    data[threadIdx.x] = s[half][t];
}
