//@ bug: The vector loop rounds the length up, so the last float4 reaches past the end.
//@ class: bounds
//@ buffer: src f32[1022] = i
//@ buffer: dst f32[1024] = 0
//@ launch: copy4<<<1, 256>>>(src, dst, 1022)

__global__ void copy4(const float* src, float* dst, int n) {
    const float4* src4 = reinterpret_cast<const float4*>(src);
    float4* dst4 = reinterpret_cast<float4*>(dst);
    const int vectors = (n + 3) / 4;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x)
        dst4[i] = src4[i];  // BUG
}
