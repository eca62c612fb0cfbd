//@ bug: The device's memcpy is asked for n * sizeof(double) bytes of float arrays.
//@ class: bounds
//@ buffer: src f32[96] = i
//@ buffer: dst f32[96] = 0
//@ launch: clone<<<1, 32>>>(src, dst, 3)

__global__ void clone(const float* src, float* dst, int per_thread) {
    const int first = threadIdx.x * per_thread;
    memcpy(dst + first, src + first, per_thread * sizeof(double));  // BUG
}
