//@ bug: A block that doesn't hold the key reads a position that nobody has stored.
//@ class: init
//@ buffer: in i32[128] = i
//@ buffer: out i32[2] = -1
//@ launch: find<<<2, 64>>>(in, out, 77)

__global__ void find(const int* in, int* out, int key) {
    __shared__ int position;
    int i = blockIdx.x * 64 + threadIdx.x;
    if (in[i] == key) position = i;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = position;  // BUG
}
