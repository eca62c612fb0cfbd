//@ right: One thread polls a volatile flag and passes it on in shared memory, where all decide by it.
//@ class: race
//@ buffer: flag i32[1] = 0
//@ buffer: value i32[1] = 0
//@ buffer: out i32[32] = none
//@ launch: wait<<<2, 32>>>(flag, value, out)
//@ expect: out = 11

__global__ void wait(volatile int* flag, int* value, int* out) {
    __shared__ int seen;
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) {
            *value = 11;
            __threadfence();
            *flag = 1;
        }
        return;
    }
    do {
        __syncthreads();
        if (threadIdx.x == 0) {
            seen = *flag;
            __threadfence();
        }
        __syncthreads();
    } while (seen == 0);
    out[threadIdx.x] = *value;
}
