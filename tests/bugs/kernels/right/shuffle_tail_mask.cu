//@ right: The tail of a strided loop takes its mask by a ballot before lanes leave.
//@ class: sync
//@ buffer: data i32[70] = i
//@ buffer: out i32[1] = 0
//@ launch: total<<<1, 32>>>(data, out, 70)
//@ expect: out = sum(data)

__global__ void total(const int* in, int* out, int n) {
    int sum = 0;
    for (int first = 0; first < n; first += 32) {
        int i = first + threadIdx.x;
        unsigned mask = __ballot_sync(0xffffffff, i < n);
        if (i < n) {
            int v = __reduce_add_sync(mask, in[i]);
            if (threadIdx.x == 0) sum += v;
        }
    }
    if (threadIdx.x == 0) *out = sum;
}
