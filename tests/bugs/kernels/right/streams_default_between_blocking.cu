//@ right: Work in the default stream orders two blocking streams, though it uses other memory.
//@ class: streams
//@ buffer: in i32[200] = i
//@ buffer: tmp i32[200] = none
//@ buffer: out i32[200] = 0
//@ buffer: other i32[4] = 7
//@ stream: one blocking
//@ stream: two blocking
//@ on: one
//@ launch: cube<<<2, 100>>>(in, tmp)
//@ on: default
//@ fill: other = 0, 16
//@ on: two
//@ launch: reverse<<<1, 200>>>(tmp, out)
//@ expect: out = (199 - i) * (199 - i) * (199 - i)
//@ expect: other = 0

__global__ void cube(const int* in, int* tmp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tmp[i] = in[i] * in[i] * in[i];
}

__global__ void reverse(const int* tmp, int* out) { out[threadIdx.x] = tmp[199 - threadIdx.x]; }
