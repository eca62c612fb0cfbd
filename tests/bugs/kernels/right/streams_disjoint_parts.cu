//@ right: Two kernels and a fill in three streams share a buffer, but not a word of it.
//@ class: streams
//@ buffer: data i32[203] = 1000 + i
//@ stream: one
//@ stream: two
//@ stream: three
//@ on: one
//@ launch: negate<<<1, 128>>>(data, 101)
//@ on: two
//@ launch: negate<<<4, 32>>>(data+404, 100)
//@ on: three
//@ fill: data+804 = 255, 8
//@ expect: data = -1 if i > 200 else -1000 - i

__global__ void negate(int* part, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) part[i] = -part[i];
}
