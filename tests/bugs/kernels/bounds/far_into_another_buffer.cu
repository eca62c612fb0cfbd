//@ bug: The column index isn't reduced, and the store lands in the middle of another buffer.
//@ class: bounds
//@ buffer: a f32[65536] = 0
//@ buffer: b f32[65536] = 1
//@ launch: scatter<<<1, 32>>>(a, 65536)

__global__ void scatter(float* a, int n) {
    int i = threadIdx.x;
    // 300 thousand elements on: with two buffers of 256 KiB that isn't past both of them.
    a[i + n + n / 2] = 2.f;  // BUG
}
