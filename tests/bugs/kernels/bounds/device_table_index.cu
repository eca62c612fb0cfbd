//@ bug: The nibble isn't masked, so high bytes index past the 16 entries of the table.
//@ class: bounds
//@ buffer: text u8[64] = i * 5
//@ buffer: counts u32[64] = 0
//@ launch: popcounts<<<1, 64>>>(text, counts)

__device__ unsigned nibble_bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

__global__ void popcounts(const unsigned char* text, unsigned* counts) {
    unsigned char c = text[threadIdx.x];
    counts[threadIdx.x] = nibble_bits[c & 15] + nibble_bits[c >> 3];  // BUG
}
