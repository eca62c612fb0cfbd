//@ bug: A structure of 4-byte members is laid over a packed file header at offset 6.
//@ class: alignment
//@ buffer: file u8[128] = i * 3
//@ buffer: out u32[2] = 0
//@ launch: parse<<<1, 1>>>(file, out)

struct Dimensions {
    unsigned width, height;
};

// "BM", four bytes of size, then the dimensions.
__global__ void parse(const unsigned char* file, unsigned* out) {
    const Dimensions* d = reinterpret_cast<const Dimensions*>(file + 6);
    out[0] = d->width;  // BUG
    out[1] = d->height;  // BUG
}
