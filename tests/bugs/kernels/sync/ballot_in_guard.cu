//@ bug: Lanes past the end skip a ballot whose mask names them, and go on to another one.
//@ class: sync
//@ buffer: in i32[50] = i % 3
//@ buffer: out u32[4] = 0
//@ launch: nonzero<<<1, 64>>>(in, out, 50)

__global__ void nonzero(const int* in, unsigned* out, int n) {
    int i = threadIdx.x;
    unsigned bits = 0;
    if (i < n) bits = __ballot_sync(0xffffffff, in[i] != 0);  // BUG
    unsigned ones = __ballot_sync(0xffffffff, i < n && in[i] == 1);
    if (i % 32 == 0) {
        out[i / 32] = bits;
        out[2 + i / 32] = ones;
    }
}
