//@ bug: All threads of the grid increment global bins without atomics.
//@ class: race
//@ buffer: keys i32[512] = (i * 7919) % 31
//@ buffer: bins i32[31] = 0
//@ launch: count<<<4, 128>>>(keys, bins, 512)

__global__ void count(const int* keys, int* bins, int n) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) bins[keys[i]] += 1;  // BUG
}
