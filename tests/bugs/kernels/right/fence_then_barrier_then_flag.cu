//@ right: Every thread fences its own stores; one thread sets the flag after a barrier.
//@ class: race
//@ buffer: message i32[64] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[64] = none
//@ launch: pass<<<2, 64>>>(message, flag, out)
//@ expect: out = 3 * i

__global__ void pass(int* message, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        message[t] = 3 * t;
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = message[t];
    }
}
