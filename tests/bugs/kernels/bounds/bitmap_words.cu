//@ bug: The bitmap has n / 32 words, so the bits of the last part of a word have no room.
//@ class: bounds
//@ buffer: values i32[1000] = i
//@ buffer: bitmap u32[31] = 0
//@ launch: mark_odd<<<4, 256>>>(values, bitmap, 1000)

__global__ void mark_odd(const int* values, unsigned* bitmap, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (values[i] & 1))
        atomicOr(bitmap + i / 32, 1u << (i % 32));  // BUG
}
