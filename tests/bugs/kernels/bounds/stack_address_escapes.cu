//@ bug: A thread publishes the address of its local variable, and others dereference it.
//@ class: bounds
//@ buffer: out i32[64] = 0
//@ launch: publish<<<1, 64>>>(out)

__global__ void publish(int* out) {
    __shared__ int* shared_pointer;
    int mine[4];
    for (int k = 0; k < 4; ++k) mine[k] = out[(threadIdx.x + k) % 64] + k;
    if (threadIdx.x == 40) shared_pointer = mine;
    __syncthreads();
    // Local addresses mean something else in every thread.
    out[threadIdx.x] += shared_pointer[threadIdx.x & 3];  // BUG
}
