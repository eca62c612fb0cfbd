//@ bug: Reversing in shared memory indexes s[n - t], which is s[n] for t == 0.
//@ class: bounds
//@ buffer: data i32[64] = i
//@ launch: reverse<<<1, 64>>>(data)

__global__ void reverse(int* data) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    data[t] = s[64 - t];  // BUG
}
