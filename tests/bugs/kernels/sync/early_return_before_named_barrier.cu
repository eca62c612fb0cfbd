//@ bug: Warps past the end return, and a named barrier that counts all threads never completes.
//@ class: sync
//@ buffer: in i32[60] = i
//@ buffer: out i32[60] = 0
//@ launch: neighbours<<<1, 128>>>(in, out, 60)

__global__ void neighbours(const int* in, int* out, int n) {
    __shared__ int s[128];
    int i = threadIdx.x;
    if (i >= n) return;
    s[i] = in[i];
    asm volatile("barrier.sync 1, %0;" ::"r"(blockDim.x) : "memory");  // BUG
    out[i] = s[i] + (i > 0 ? s[i - 1] : 0);
}
