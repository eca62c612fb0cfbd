//@ bug: The second element's address isn't a multiple of 16, and is read as a float4.
//@ class: alignment
//@ buffer: x f32[68] = i
//@ buffer: y f32[16] = 0
//@ launch: sums_of_four<<<1, 16>>>(x, y)

__global__ void sums_of_four(const float* x, float* y) {
    const float4 v = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);  // BUG
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
