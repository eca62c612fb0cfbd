//@ right: Each half of the warp shuffles in its own branch, with its own mask.
//@ class: sync
//@ buffer: data i32[32] = i
//@ launch: halves<<<1, 32>>>(data)
//@ expect: data = data[(i + 1) % 16] if i < 16 else data[16 + (i - 17) % 16]

__global__ void halves(int* data) {
    int lane = threadIdx.x, v = data[lane];
    if (lane < 16) v = __shfl_sync(0x0000ffff, v, (lane + 1) & 15);
    else v = __shfl_sync(0xffff0000, v, 16 + ((lane - 1) & 15));
    data[lane] = v;
}
