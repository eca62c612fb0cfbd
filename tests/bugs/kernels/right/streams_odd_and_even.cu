//@ right: Two streams write the odd and the even elements of one buffer.
//@ class: streams
//@ buffer: x i32[512] = 0
//@ stream: a
//@ stream: b
//@ on: a
//@ launch: mark<<<1, 256>>>(x, 0)
//@ on: b
//@ launch: mark<<<1, 256>>>(x, 1)
//@ expect: x = i

__global__ void mark(int* x, int odd) {
    const int i = 2 * threadIdx.x + odd;
    x[i] = i;
}
