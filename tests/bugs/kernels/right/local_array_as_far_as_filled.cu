//@ right: A thread's array is filled up to a count that varies, and read up to the same count.
//@ class: init
//@ buffer: data i32[64] = i
//@ buffer: out i32[64] = none
//@ launch: windows<<<1, 64>>>(data, out)
//@ expect: out = sum(data[(i + k) % 64] for k in range(i % 8 + 4))

__global__ void windows(const int* in, int* out) {
    int t = threadIdx.x;
    int window[16];
    int count = t % 8 + 4;
    for (int k = 0; k < count; ++k) window[k] = in[(t + k) % 64];
    int sum = 0;
    for (int k = count - 1; k >= 0; --k) sum += window[k];
    out[t] = sum;
}
