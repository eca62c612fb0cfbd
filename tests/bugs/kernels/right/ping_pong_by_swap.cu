//@ right: Two buffers are swapped after each step; the pointers come from either parameter.
//@ class: bounds
//@ buffer: a i32[64] = i
//@ buffer: b i32[64] = 0
//@ launch: rotate<<<1, 64>>>(a, b, 5)
//@ expect: b = (i + 5) % 64

__global__ void rotate(int* a, int* b, int steps) {
    int* from = a;
    int* to = b;
    for (int s = 0; s < steps; ++s) {
        to[threadIdx.x] = from[(threadIdx.x + 1) % 64];
        __syncthreads();
        int* other = from;
        from = to;
        to = other;
    }
}
