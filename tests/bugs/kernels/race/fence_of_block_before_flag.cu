//@ bug: The fence before the barrier covers only the block, but another block reads.
//@ class: race
//@ buffer: message i32[64] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[64] = 0
//@ launch: pass<<<2, 64>>>(message, flag, out)

__global__ void pass(int* message, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        message[t] = 3 * t;  // BUG
        __threadfence_block();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = message[t];  // BUG
    }
}
