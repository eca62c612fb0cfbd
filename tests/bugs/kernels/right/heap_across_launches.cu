//@ right: The first kernel allocates, the second uses the memory and frees it.
//@ class: leak
//@ buffer: slots u64[32] = 0
//@ buffer: out i32[32] = none
//@ launch: build<<<1, 32>>>(slots)
//@ launch: consume<<<1, 32>>>(slots, out)
//@ holds: out == [3 * k + 3 for k in range(32)]

__global__ void build(int** slots) {
    int* p = new int[3];
    for (int k = 0; k < 3; ++k) p[k] = threadIdx.x + k;
    slots[threadIdx.x] = p;
}

__global__ void consume(int** slots, int* out) {
    int* p = slots[threadIdx.x];
    out[threadIdx.x] = p[0] + p[1] + p[2];
    delete[] p;
    slots[threadIdx.x] = nullptr;
}
