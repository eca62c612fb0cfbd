//@ bug: Kernels in two streams count in the same word with atomics of block scope.
//@ class: streams
//@ buffer: text u8[512] = 97 + (i * 7) % 26
//@ buffer: vowels u32[1] = 0
//@ stream: one
//@ stream: two
//@ on: one
//@ launch: count<<<1, 256>>>(text, vowels)
//@ on: two
//@ launch: count<<<1, 256>>>(text+256, vowels)

__global__ void count(const unsigned char* text, unsigned* vowels) {
    char c = text[threadIdx.x];
    if (c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u')
        atomicAdd_block(vowels, 1u);  // BUG
}
