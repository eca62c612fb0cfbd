//@ right: Two streams write the even and the odd bytes of the same words.
//@ class: streams
//@ buffer: left u8[320] = i
//@ buffer: right u8[320] = 255 - i
//@ buffer: out u8[640] = 9
//@ stream: one
//@ stream: two
//@ on: one
//@ launch: channel<<<5, 64>>>(left, out)
//@ on: two
//@ launch: channel<<<2, 160>>>(right, out+1)
//@ expect: out = (255 - i // 2) % 256 if i % 2 else (i // 2) % 256

__global__ void channel(const unsigned char* in, unsigned char* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * i] = in[i];
}
