//@ bug: Message and flag are volatile, but no fence keeps their order between two blocks.
//@ class: race
//@ buffer: message i32[1] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[1] = 0
//@ launch: pass<<<2, 32>>>(message, flag, out)

__global__ void pass(volatile int* message, volatile int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *message = 42;  // BUG
        *flag = 1;  // BUG
    } else {
        while (*flag == 0) {}
        *out = *message;  // BUG
    }
}
