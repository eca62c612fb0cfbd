//@ bug: The input is uploaded in one stream and the kernel starts in another without an event.
//@ class: streams
//@ buffer: pinned host f64[300] = i / 4
//@ buffer: in f64[300] = 0
//@ buffer: sum f64[1] = 0
//@ stream: upload
//@ stream: compute
//@ on: upload
//@ copy: in = host, 2400
//@ on: compute
//@ launch: total<<<1, 32>>>(in, sum, 300)

__global__ void total(const double* in, double* sum, int n) {
    double s = 0;
    for (int i = threadIdx.x; i < n; i += 32) s += in[i];  // BUG
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) *sum = s;
}
