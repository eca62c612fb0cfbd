//@ bug: The unsigned index 0 - 1 wraps to 2^32 - 1 before the test that should stop it.
//@ class: bounds
//@ buffer: a f32[64] = i
//@ buffer: d f32[64] = 0
//@ launch: differences<<<1, 64>>>(a, d, u32:64)

__global__ void differences(const float* a, float* d, unsigned n) {
    unsigned i = threadIdx.x;
    unsigned previous = i - 1;
    if (previous + 1 < n)
        d[i] = a[i] - a[previous];  // BUG
}
