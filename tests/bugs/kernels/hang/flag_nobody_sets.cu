//@ bug: The kernel waits for a flag that no thread and no host ever sets.
//@ class: hang
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[1] = 0
//@ launch: wait<<<1, 1>>>(flag, out)

__global__ void wait(volatile int* flag, int* out) {
    while (*flag == 0) {}  // BUG
    *out = 1;
}
