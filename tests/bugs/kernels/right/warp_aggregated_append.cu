//@ right: One atomic per warp reserves room, and the active lanes write one after the other.
//@ class: race
//@ buffer: data i32[256] = i
//@ buffer: out i32[256] = -1
//@ buffer: length i32[1] = 0
//@ launch: keep_multiples<<<2, 128>>>(data, out, length, 3)
//@ holds: length[0] == 86 and sorted(out[:86]) == [k for k in range(256) if k % 3 == 0]

__device__ int aggregated_increment(int* counter) {
    unsigned active = __activemask();
    int lane = threadIdx.x & 31, leader = __ffs(active) - 1;
    int base = 0;
    if (lane == leader) base = atomicAdd(counter, __popc(active));
    base = __shfl_sync(active, base, leader);
    return base + __popc(active & ((1u << lane) - 1));
}

__global__ void keep_multiples(const int* in, int* out, int* length, int of) {
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (v % of == 0) out[aggregated_increment(length)] = v;
}
