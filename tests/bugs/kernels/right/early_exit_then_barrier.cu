//@ right: Threads that have ended don't count at a later __syncthreads(): devices since 7.0.
//@ class: sync
//@ buffer: data i32[64] = i
//@ buffer: out i32[64] = none
//@ launch: neighbours<<<1, 128>>>(data, out, 64)
//@ expect: out = data[i] + (data[i - 1] if i else 0)

__global__ void neighbours(const int* in, int* out, int n) {
    __shared__ int s[128];
    int i = threadIdx.x;
    if (i >= n) return;
    s[i] = in[i];
    __syncthreads();
    out[i] = s[i] + (i > 0 ? s[i - 1] : 0);
}
