//@ bug: The exclusive scan stores the total past the last element, where no room was allocated.
//@ class: bounds
//@ buffer: in i32[128] = 1
//@ buffer: out i32[128] = 0
//@ launch: exclusive_scan<<<1, 128>>>(in, out, 128)

__global__ void exclusive_scan(const int* in, int* out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) out[0] = 0;
    out[t + 1] = s[t];  // BUG
}
