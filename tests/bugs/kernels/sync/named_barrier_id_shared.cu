//@ bug: Two pairs of warps use the same barrier, each as if the other pair didn't exist.
//@ class: sync
//@ buffer: data i32[128] = i
//@ launch: pairs<<<1, 128>>>(data)

// Warps 0 and 2, and warps 1 and 3, exchange their values.
__global__ void pairs(int* data) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");  // BUG
    data[t] = s[t ^ 64];  // BUG
}
