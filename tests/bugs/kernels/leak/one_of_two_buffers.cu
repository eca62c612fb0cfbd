//@ bug: Two of three buffers of a double-buffered computation are freed.
//@ class: leak
//@ buffer: in i32[64] = i
//@ buffer: front i32[64] = 0
//@ buffer: back i32[64] = 0
//@ launch: step<<<1, 64>>>(in, front)
//@ launch: step<<<1, 64>>>(front, back)
//@ leak: back

__global__ void step(const int* from, int* to) {
    to[threadIdx.x] = from[(threadIdx.x + 1) % 64] + 1;
}
