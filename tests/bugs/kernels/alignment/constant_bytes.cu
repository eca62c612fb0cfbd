//@ bug: A table of constant bytes is read as 16-bit numbers from odd offsets.
//@ class: alignment
//@ buffer: out u32[16] = 0
//@ launch: expand<<<1, 16>>>(out)

__constant__ unsigned char table[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

__global__ void expand(unsigned* out) {
    out[threadIdx.x] = *(const unsigned short*)(table + threadIdx.x);  // BUG
}
