//@ bug: The two halves of a warp reduce with masks that overlap in one lane.
//@ class: sync
//@ buffer: in i32[32] = i
//@ buffer: out i32[2] = 0
//@ launch: halves<<<1, 32>>>(in, out)

__global__ void halves(const int* in, int* out) {
    const int lane = threadIdx.x;
    unsigned mask = lane < 16 ? 0x0001ffff : 0xffff0000;
    int sum = __reduce_add_sync(mask, in[lane]);  // BUG
    if (lane % 16 == 0) out[lane / 16] = sum;
}
