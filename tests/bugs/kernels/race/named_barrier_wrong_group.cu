//@ bug: Each half of the block synchronises on its own barrier, but reads the other half's data.
//@ class: race
//@ buffer: data i32[128] = i
//@ launch: swap_halves<<<1, 128>>>(data)

__global__ void swap_halves(int* data) {
    __shared__ int s[128];
    const int t = threadIdx.x, half = t / 64;
    s[t] = data[t];  // BUG
    asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    data[t] = s[t ^ 64];  // BUG
}
