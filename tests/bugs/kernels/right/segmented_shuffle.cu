//@ right: Shuffles of width 8 stay in their segments; values from beyond aren't used.
//@ class: sync
//@ buffer: data i32[64] = i
//@ buffer: out i32[64] = none
//@ launch: scans<<<1, 64>>>(data, out)
//@ expect: out = sum(data[i // 8 * 8:i + 1])

__global__ void scans(const int* in, int* out) {
    int v = in[threadIdx.x];
    for (int d = 1; d < 8; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, v, d, 8);
        if (threadIdx.x % 8 >= d) v += left;
    }
    out[threadIdx.x] = v;
}
