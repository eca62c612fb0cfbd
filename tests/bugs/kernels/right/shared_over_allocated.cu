//@ right: The launch gives more dynamic shared memory than the kernel writes or reads.
//@ class: init
//@ buffer: data f32[64] = i
//@ buffer: out f32[64] = none
//@ launch: reverse<<<1, 64, 4096>>>(data, out)
//@ expect: out = float(data[63 - i])

__global__ void reverse(const float* in, float* out) {
    extern __shared__ float s[];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
