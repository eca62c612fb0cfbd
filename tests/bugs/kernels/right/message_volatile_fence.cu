//@ right: A message and a volatile flag, with __threadfence on both sides.
//@ class: race
//@ buffer: message i32[32] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[32] = none
//@ launch: pass<<<2, 32>>>(message, flag, out)
//@ expect: out = 100 + i

__global__ void pass(volatile int* message, volatile int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        message[t] = 100 + t;
        __threadfence();
        __syncthreads();
        if (t == 0) *flag = 1;
    } else {
        if (t == 0) {
            while (*flag == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = message[t];
    }
}
