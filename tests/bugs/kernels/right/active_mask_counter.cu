//@ right: __activemask() only decides how lanes share an atomic; any answer gives the same sum.
//@ class: sync
//@ buffer: data i32[64] = i
//@ buffer: count i32[1] = 0
//@ launch: count_large<<<1, 64>>>(data, count)
//@ expect: count = 23

__global__ void count_large(const int* in, int* count) {
    if (in[threadIdx.x] > 40) {
        unsigned mask = __activemask();
        if ((threadIdx.x & 31) == __ffs(mask) - 1) atomicAdd(count, __popc(mask));
    }
}
