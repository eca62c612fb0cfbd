//@ bug: The owning stream frees the memory without waiting for the other stream that reads it.
//@ class: streams
//@ buffer: in i32[400] = 3 * i
//@ buffer: out i32[400] = 0
//@ stream: owner
//@ stream: guest
//@ on: owner
//@ allocate: temporary i32[400]
//@ launch: shift<<<4, 100>>>(in, temporary)
//@ record: shifted
//@ on: guest
//@ await: shifted
//@ launch: invert<<<4, 100>>>(temporary, out)
//@ on: owner
//@ free: temporary

__global__ void shift(const int* in, int* temporary) {
    int i = blockIdx.x * 100 + threadIdx.x;
    temporary[(i + 1) % 400] = in[i];
}

__global__ void invert(const int* temporary, int* out) {
    int i = blockIdx.x * 100 + threadIdx.x;
    out[i] = ~temporary[i];  // BUG
}
