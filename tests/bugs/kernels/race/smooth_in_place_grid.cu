//@ bug: A stencil works in place, so a block's edge reads what its neighbour overwrites.
//@ class: race
//@ buffer: v f32[512] = i
//@ launch: smooth<<<4, 128>>>(v, 512)

__global__ void smooth(float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float left = i > 0 ? v[i - 1] : v[i];  // BUG
    float right = i + 1 < n ? v[i + 1] : v[i];  // BUG
    __syncthreads();
    v[i] = 0.5f * (left + right);  // BUG
}
