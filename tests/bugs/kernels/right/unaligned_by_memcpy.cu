//@ right: A 32-bit number at an odd position is read by memcpy, byte by byte.
//@ class: alignment
//@ buffer: stream u8[64] = i
//@ buffer: out u32[8] = none
//@ launch: lengths<<<1, 8>>>(stream, out)
//@ expect: out = sum((7 * i + 1 + k) << 8 * k for k in range(4))

__global__ void lengths(const unsigned char* stream, unsigned* out) {
    unsigned value;
    memcpy(&value, stream + 7 * threadIdx.x + 1, sizeof value);
    out[threadIdx.x] = value;
}
