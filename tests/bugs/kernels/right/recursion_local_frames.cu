//@ right: A recursive function keeps arrays in its frames and passes their addresses down.
//@ class: bounds
//@ buffer: out i32[32] = none
//@ launch: start<<<1, 32>>>(out)
//@ expect: out = sum(range(i % 6 + 1)) * 2

// The sum of 1 to depth, counted down in place by the frame below.
__device__ __noinline__ void add_down(int depth, int* total) {
    if (depth == 0) return;
    int mine[2] = {depth, 0};
    add_down(depth - 1, &mine[1]);
    *total = mine[0] + mine[1];
}

__global__ void start(int* out) {
    int total[2] = {0, 0};
    add_down(threadIdx.x % 6, &total[0]);
    add_down(threadIdx.x % 6, &total[1]);
    out[threadIdx.x] = total[0] + total[1];
}
