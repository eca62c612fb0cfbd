//@ bug: A warp waits for another's flag in shared memory, which nothing orders with the data.
//@ class: race
//@ buffer: out i32[32] = 0
//@ launch: handoff<<<1, 64>>>(out)

__global__ void handoff(int* out) {
    __shared__ int box[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        box[lane] = lane * lane;  // BUG
        if (lane == 0) ready = 1;  // BUG
    } else {
        while (!ready) {}  // BUG
        out[lane] = box[31 - lane];  // BUG
    }
}
