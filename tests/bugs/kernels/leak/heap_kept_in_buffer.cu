//@ bug: The first kernel stores pointers for the second, which uses the memory without freeing it.
//@ class: leak
//@ buffer: slots u64[16] = 0
//@ buffer: out i32[16] = 0
//@ launch: build<<<1, 16>>>(slots)
//@ launch: consume<<<1, 16>>>(slots, out)

__global__ void build(int** slots) {
    int* p = (int*)malloc(2 * sizeof(int));  // BUG
    p[0] = threadIdx.x;
    p[1] = 1;
    slots[threadIdx.x] = p;
}

__global__ void consume(int** slots, int* out) {
    out[threadIdx.x] = slots[threadIdx.x][0] + slots[threadIdx.x][1];
    slots[threadIdx.x] = nullptr;
}
