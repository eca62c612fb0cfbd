//@ bug: Only .x of each pair is stored, and the second kernel adds both.
//@ class: init
//@ buffer: pairs f32[128] = none
//@ buffer: out f32[64] = 0
//@ launch: set_real<<<1, 64>>>(pairs)
//@ launch: norms<<<1, 64>>>(pairs, out)

__global__ void set_real(float2* z) {
    z[threadIdx.x].x = threadIdx.x;
}

__global__ void norms(const float2* z, float* out) {
    float2 v = z[threadIdx.x];  // BUG
    out[threadIdx.x] = v.x * v.x + v.y * v.y;  // BUG
}
