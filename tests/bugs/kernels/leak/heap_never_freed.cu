//@ bug: Every thread allocates a list on the device's heap, and nobody frees one.
//@ class: leak
//@ buffer: out i32[64] = 0
//@ launch: lists<<<2, 32>>>(out)

__global__ void lists(int* out) {
    int* list = (int*)malloc(16 * sizeof(int));  // BUG
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; ++k) list[k] = i + k;
    out[i] = list[i & 15];
}
