//@ bug: The number of rounds depends on the thread, and each round has a barrier.
//@ class: sync
//@ buffer: in f32[100] = 1
//@ buffer: out f32[64] = 0
//@ launch: strided<<<1, 64>>>(in, out, 100)

__global__ void strided(const float* in, float* out, int n) {
    __shared__ float tile[64];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        tile[threadIdx.x] = in[i];
        __syncthreads();  // BUG
        sum += tile[threadIdx.x ^ 1];
        __syncthreads();  // BUG
    }
    __syncthreads();  // BUG
    out[threadIdx.x] = sum + tile[63 - threadIdx.x];
}
