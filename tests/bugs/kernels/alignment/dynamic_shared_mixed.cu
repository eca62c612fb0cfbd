//@ bug: Flags of one byte come first in dynamic shared memory, and 33 of them precede the floats.
//@ class: alignment
//@ buffer: in f32[33] = i
//@ buffer: out f32[33] = 0
//@ launch: mixed<<<1, 33, 256>>>(in, out)

__global__ void mixed(const float* in, float* out) {
    extern __shared__ char memory[];
    char* flag = memory;
    float* value = (float*)(memory + blockDim.x);
    flag[threadIdx.x] = in[threadIdx.x] > 3;
    value[threadIdx.x] = in[threadIdx.x];  // BUG
    __syncthreads();
    int other = blockDim.x - 1 - threadIdx.x;
    out[threadIdx.x] = flag[other] ? value[other] : 0;  // BUG
}
