//@ bug: The thread's array is filled up to a count that varies, and read to its end.
//@ class: init
//@ buffer: in i32[64] = i
//@ buffer: out i32[64] = 0
//@ launch: windows<<<1, 64>>>(in, out)

__global__ void windows(const int* in, int* out) {
    int t = threadIdx.x;
    int window[16];
    int count = t % 8 + 8;
    for (int k = 0; k < count; ++k) window[k] = in[(t + k) % 64];
    int sum = 0;
    for (int k = 0; k < 16; ++k) sum += window[(k * 5 + t) % 16];  // BUG
    out[t] = sum;
}
