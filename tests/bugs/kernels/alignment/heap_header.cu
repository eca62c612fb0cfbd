//@ bug: An allocator's header of two bytes moves the user's ints off their alignment.
//@ class: alignment
//@ buffer: out i32[32] = 0
//@ launch: arena<<<1, 32>>>(out)

__device__ void* tagged_malloc(size_t bytes, short tag) {
    char* memory = (char*)malloc(bytes + sizeof(short));
    *(short*)memory = tag;
    return memory + sizeof(short);
}

__global__ void arena(int* out) {
    volatile int* mine = (int*)tagged_malloc(4 * sizeof(int), 1);
    for (int k = 0; k < 4; ++k) mine[k] = threadIdx.x + k;  // BUG
    out[threadIdx.x] = mine[3];
    free((char*)mine - sizeof(short));
}
