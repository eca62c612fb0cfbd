//@ bug: In the last block only some threads load, but the tree adds all of the block's slots.
//@ class: init
//@ buffer: in i32[100] = 1
//@ buffer: out i32[2] = 0
//@ launch: sums<<<2, 64, 256>>>(in, out, 100)

__global__ void sums(const int* in, int* out, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) s[t] = in[i];
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h >>= 1) {
        if (t < h) s[t] += s[t + h];  // BUG
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
