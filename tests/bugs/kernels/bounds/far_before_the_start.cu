//@ bug: The index is far negative, and the load hits the middle of the buffer made before.
//@ class: bounds
//@ buffer: table i32[65536] = i
//@ buffer: values i32[1024] = -40000
//@ buffer: out i32[32] = 0
//@ launch: look_up<<<1, 32>>>(values, out)

__global__ void look_up(const int* values, int* out) {
    int at = values[threadIdx.x];
    out[threadIdx.x] = values[threadIdx.x + at];  // BUG
}
