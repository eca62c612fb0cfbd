//@ bug: The second element's address isn't a multiple of 16, and is read as a float4.
//@ class: alignment
//@ buffer: x f32[68] = i
//@ buffer: y f32[64] = 0
//@ launch: shift_copy<<<1, 16>>>(x, y)

__global__ void shift_copy(const float* x, float* y) {
    const float4 v = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);  // BUG
    reinterpret_cast<float4*>(y)[threadIdx.x] = v;
}
