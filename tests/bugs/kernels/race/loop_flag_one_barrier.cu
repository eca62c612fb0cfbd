//@ bug: Thread 0 sets the loop's end for the next round while others still test it for this one.
//@ class: race
//@ buffer: out i32[64] = 0
//@ launch: rounds<<<1, 64>>>(out, 5)

__global__ void rounds(int* out, int limit) {
    __shared__ bool done;
    int round = 0, sum = 0;
    if (threadIdx.x == 0) done = false;
    __syncthreads();
    while (!done) {  // BUG
        sum += round++;
        if (threadIdx.x == 0) done = round == limit;  // BUG
        __syncthreads();
        if (threadIdx.x == 63) sum += 0;
    }
    out[threadIdx.x] = sum;
}
