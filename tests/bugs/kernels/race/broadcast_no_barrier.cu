//@ bug: Thread 0 stores the block's offset, and the others read it at once.
//@ class: race
//@ buffer: cursor u32[1] = 0
//@ buffer: out u32[256] = 0
//@ launch: reserve<<<2, 128>>>(cursor, out)

__global__ void reserve(unsigned* cursor, unsigned* out) {
    __shared__ unsigned base;
    if (threadIdx.x == 0) base = atomicAdd(cursor, blockDim.x);  // BUG
    out[base + threadIdx.x] = blockIdx.x;  // BUG
}
