//@ bug: The index counts through both halves, but the halves are separate buffers.
//@ class: bounds
//@ buffer: low f32[16384] = i
//@ buffer: high f32[16384] = i
//@ buffer: out f32[64] = 0
//@ launch: pick<<<1, 64>>>(low, out, 512)

__global__ void pick(const float* low, float* out, int stride) {
    out[threadIdx.x] = low[threadIdx.x * stride + stride];  // BUG
}
