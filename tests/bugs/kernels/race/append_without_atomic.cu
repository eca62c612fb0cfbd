//@ bug: The position in the output list is read and incremented without an atomic.
//@ class: race
//@ buffer: in i32[256] = i
//@ buffer: out i32[256] = 0
//@ buffer: length i32[1] = 0
//@ launch: keep_even<<<2, 128>>>(in, out, length)

__global__ void keep_even(const int* in, int* out, int* length) {
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (v % 2 == 0) {
        int at = *length;  // BUG
        *length = at + 1;  // BUG
        out[at] = v;  // BUG
    }
}
