//@ bug: Only the first half of the warp executes a shuffle whose mask names all lanes.
//@ class: sync
//@ buffer: data i32[32] = i
//@ launch: rotate_half<<<1, 32>>>(data)

__global__ void rotate_half(int* data) {
    int v = data[threadIdx.x];
    if (threadIdx.x < 16)
        v = __shfl_sync(0xffffffff, v, (threadIdx.x + 1) % 16);  // BUG
    v += __shfl_xor_sync(0xffffffff, v, 16);
    data[threadIdx.x] = v;
}
