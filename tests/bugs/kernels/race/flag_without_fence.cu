//@ bug: A block stores a result and then a volatile flag, without a fence between them.
//@ class: race
//@ buffer: result f32[32] = 0
//@ buffer: flag i32[1] = 0
//@ buffer: out f32[32] = 0
//@ launch: pass<<<2, 32>>>(result, flag, out)

__global__ void pass(float* result, volatile int* flag, float* out) {
    int lane = threadIdx.x;
    if (blockIdx.x == 0) {
        result[lane] = 0.5f * lane;  // BUG
        __syncwarp();
        if (lane == 0) *flag = 1;  // BUG
    } else {
        while (*flag == 0) {}
        out[lane] = result[31 - lane];  // BUG
    }
}
