//@ bug: Two blocking streams are believed to order each other, with no default stream work between.
//@ class: streams
//@ buffer: v i16[1024] = i % 100
//@ stream: encode blocking
//@ stream: pack blocking
//@ buffer: words u32[512] = 0
//@ on: default
//@ launch: offset<<<8, 128>>>(v, 7)
//@ on: encode
//@ launch: offset<<<8, 128>>>(v, -50)
//@ on: pack
//@ launch: join<<<4, 128>>>(v, words)

__global__ void offset(short* v, int by) {
    v[blockIdx.x * blockDim.x + threadIdx.x] += by;  // BUG
}

__global__ void join(const short* v, unsigned* words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] = (unsigned short)v[2 * i] | (unsigned)(unsigned short)v[2 * i + 1] << 16;  // BUG
}
