//@ bug: The table in shared memory is built for 0 … 254, and the byte 255 occurs.
//@ class: init
//@ buffer: text u8[256] = i
//@ buffer: out u8[256] = 0
//@ launch: translate<<<1, 256>>>(text, out)

__global__ void translate(const unsigned char* text, unsigned char* out) {
    __shared__ unsigned char table[256];
    if (threadIdx.x < 255) table[threadIdx.x] = threadIdx.x ^ 0x20;
    __syncthreads();
    out[threadIdx.x] = table[text[threadIdx.x]];  // BUG
}
