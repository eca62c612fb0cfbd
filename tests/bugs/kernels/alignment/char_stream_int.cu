//@ bug: A 32-bit length is read from an odd position of a byte stream.
//@ class: alignment
//@ buffer: stream u8[64] = i
//@ buffer: out u32[8] = 0
//@ launch: lengths<<<1, 8>>>(stream, out)

// Packets of 7 bytes: a tag, a length of 4 bytes, 2 bytes of data.
__global__ void lengths(const char* stream, unsigned* out) {
    const char* packet = stream + 7 * threadIdx.x;
    out[threadIdx.x] = *(const unsigned*)(packet + 1);  // BUG
}
