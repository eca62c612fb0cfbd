//@ right: Two kernels and a copy in three streams use one input without an order: all read it.
//@ class: streams
//@ buffer: data i32[256] = (i * 91) % 256
//@ buffer: least i32[1] = 1000
//@ buffer: backwards i32[256] = none
//@ buffer: pinned host i32[256] = 0
//@ stream: one
//@ stream: two
//@ stream: three
//@ on: one
//@ launch: minimum<<<2, 128>>>(data, least)
//@ on: two
//@ launch: reverse<<<1, 256>>>(data, backwards)
//@ on: three
//@ copy: host = data, 1024
//@ expect: least = min(data)
//@ expect: backwards = data[255 - i]
//@ expect: host = data[i]

__global__ void minimum(const int* in, int* least) {
    atomicMin(least, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void reverse(const int* in, int* out) { out[threadIdx.x] = in[255 - threadIdx.x]; }
