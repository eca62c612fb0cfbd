//@ bug: The second stage reads what other blocks write in the same launch, without a grid barrier.
//@ class: race
//@ buffer: in f32[256] = i
//@ buffer: tmp f32[256] = 0
//@ buffer: out f32[256] = 0
//@ launch: two_stages<<<4, 64>>>(in, tmp, out, 256)

__global__ void two_stages(const float* in, float* tmp, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tmp[i] = 2 * in[i];  // BUG
    __syncthreads();
    out[i] = tmp[(i + 1) % n] + tmp[i];  // BUG
}
