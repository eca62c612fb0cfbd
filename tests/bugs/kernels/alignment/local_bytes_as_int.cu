//@ bug: A thread's byte buffer is read as an int from a position that isn't a multiple of 4.
//@ class: alignment
//@ buffer: text u8[64] = i * 7
//@ buffer: out i32[32] = 0
//@ launch: hash<<<1, 32>>>(text, out)

__global__ void hash(const unsigned char* text, int* out) {
    unsigned char buffer[32];
    for (int k = 0; k < 32; ++k) buffer[k] = text[(threadIdx.x + k) % 64];
    int h = 0;
    for (int k = 0; k + 4 <= 32; k += 1 + (threadIdx.x & 1) * 4)
        h = h * 31 + *(volatile int*)(buffer + k);  // BUG
    out[threadIdx.x] = h;
}
