//@ right: Lanes named in a vote's mask have ended; only lanes that haven't must take part.
//@ class: sync
//@ buffer: data i32[20] = i
//@ buffer: out u32[1] = 0
//@ launch: odd<<<1, 32>>>(data, out, 20)
//@ expect: out = sum(1 << k for k in range(1, 20, 2))

__global__ void odd(const int* in, unsigned* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned bits = __ballot_sync(0xffffffff, in[i] & 1);
    if (i == 0) *out = bits;
}
