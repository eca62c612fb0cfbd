//@ bug: The flag is read once, because it is neither volatile nor atomic; the loop never ends.
//@ class: hang
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[1] = 0
//@ launch: handshake<<<2, 32>>>(flag, out)

__global__ void handshake(int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        __nanosleep(1000);
        atomicExch(flag, 1);
    } else {
        while (*flag != 1) {}  // BUG
        *out = 7;
    }
}
