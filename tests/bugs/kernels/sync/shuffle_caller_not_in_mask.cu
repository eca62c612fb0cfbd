//@ bug: The mask names the lower half, and the upper half executes the shuffle too.
//@ class: sync
//@ buffer: data i32[32] = i
//@ launch: sum_half<<<1, 32>>>(data)

__global__ void sum_half(int* data) {
    int v = data[threadIdx.x];
    for (int d = 8; d > 0; d /= 2)
        v += __shfl_down_sync(0x0000ffff, v, d, 16);  // BUG
    data[threadIdx.x] = v;
}
