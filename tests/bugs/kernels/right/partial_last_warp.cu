//@ right: A block of 48 threads reduces with the mask of the lanes that its last warp has.
//@ class: sync
//@ buffer: data i32[48] = i
//@ buffer: out i32[1] = 0
//@ launch: total<<<1, 48>>>(data, out)
//@ expect: out = sum(data)

__global__ void total(const int* in, int* out) {
    unsigned mask = threadIdx.x < 32 ? 0xffffffff : 0x0000ffff;
    int v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) {
        int other = __shfl_down_sync(mask, v, d);
        if ((threadIdx.x & 31) + d < (threadIdx.x < 32 ? 32 : 16)) v += other;
    }
    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}
