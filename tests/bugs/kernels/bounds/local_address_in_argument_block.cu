//@ bug: Thread 0 passes the address of its local variable to the other threads in global memory.
//@ class: bounds
//@ buffer: block u64[4] = 0
//@ buffer: out i32[64] = 0
//@ launch: call<<<1, 64>>>(block, out, 6)

struct Arguments {
    int* values;
};

__global__ void call(Arguments* block, int* out, int n) {
    int values[16];
    for (int k = 0; k < 16; ++k) values[k] = n * k + threadIdx.x;
    if (threadIdx.x == 0) block->values = values;
    __syncthreads();
    out[threadIdx.x] = block->values[threadIdx.x % 16];  // BUG
}
