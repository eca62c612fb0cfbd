//@ bug: In the last round of a strided loop some lanes are gone, and the vote's mask is full.
//@ class: sync
//@ buffer: in i32[70] = i
//@ buffer: found i32[1] = 0
//@ launch: search<<<1, 32>>>(in, found, 70)

__global__ void search(const int* in, int* found, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        if (__any_sync(0xffffffff, in[i] == 69)) {  // BUG
            if (threadIdx.x == 0) *found = 1;
        }
    }
    if (__all_sync(0xffffffff, n > 1000)) *found = 2;
}
