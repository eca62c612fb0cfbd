//@ bug: The product of row and pitch overflows 32 bits and becomes a negative offset.
//@ class: bounds
//@ buffer: data u8[4096] = 0
//@ launch: touch<<<1, 32>>>(data, 1500000000)

__global__ void touch(unsigned char* data, int pitch) {
    int row = threadIdx.x;
    int offset = row * pitch;
    if (offset < 4096)
        data[offset] = 1;  // BUG
}
