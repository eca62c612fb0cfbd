//@ bug: Even and odd threads set different bit fields of one structure, which share a word.
//@ class: race
//@ buffer: out u32[32] = 0
//@ launch: settings<<<1, 64>>>(out)

struct Flags {
    unsigned low : 13;
    unsigned high : 19;
};

__global__ void settings(unsigned* out) {
    __shared__ Flags flags[32];
    int pair = threadIdx.x % 32;
    if (threadIdx.x < 32) *reinterpret_cast<unsigned*>(&flags[pair]) = 0;
    __syncthreads();
    if (threadIdx.x < 32) flags[pair].low = 0xff0 + (pair * 3 & 7);  // BUG
    else flags[pair].high = 1 + out[pair];  // BUG
    __syncthreads();
    if (threadIdx.x < 32) out[pair] = flags[pair].low + (flags[pair].high << 8);
}
