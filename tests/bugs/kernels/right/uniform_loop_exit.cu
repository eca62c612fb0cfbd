//@ right: A loop with barriers ends when a vote of the whole block says so.
//@ class: sync
//@ buffer: data i32[128] = i % 11 + 1
//@ buffer: out i32[128] = none
//@ launch: count_down<<<1, 128>>>(data, out)
//@ expect: out = 11

__global__ void count_down(const int* in, int* out) {
    __shared__ int rounds;
    int left = in[threadIdx.x];
    if (threadIdx.x == 0) rounds = 0;
    __syncthreads();
    while (__syncthreads_or(left > 0)) {
        if (threadIdx.x == 0) ++rounds;
        if (left > 0) --left;
    }
    out[threadIdx.x] = rounds;
}
