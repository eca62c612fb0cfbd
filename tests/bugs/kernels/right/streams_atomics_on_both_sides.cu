//@ right: Kernels in two streams count in the same bins, both with atomics; a third follows both.
//@ class: streams
//@ buffer: text u8[1000] = 97 + (i * i) % 26
//@ buffer: bins u32[26] = 0
//@ buffer: all u32[1] = 0
//@ stream: one
//@ stream: two
//@ on: one
//@ launch: count<<<5, 100>>>(text, bins)
//@ on: two
//@ launch: count<<<4, 125>>>(text+500, bins)
//@ record: counted
//@ on: one
//@ await: counted
//@ launch: total<<<1, 1>>>(bins, all)
//@ expect: bins = sum(1 for c in text if c == 97 + i)
//@ expect: all = 1000

__global__ void count(const unsigned char* text, unsigned* bins) {
    atomicAdd(&bins[text[blockIdx.x * blockDim.x + threadIdx.x] - 'a'], 1u);
}

__global__ void total(const unsigned* bins, unsigned* all) {
    for (int i = 0; i < 26; ++i) *all += bins[i];
}
