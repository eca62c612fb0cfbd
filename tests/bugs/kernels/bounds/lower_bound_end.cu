//@ bug: A search may return the end, and the key there is read without a test.
//@ class: bounds
//@ buffer: keys i32[100] = 3 * i
//@ buffer: found u8[350] = 0
//@ launch: contains<<<2, 256>>>(keys, found, 100, 350)

__device__ int lower_bound(const int* keys, int n, int key) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (keys[mid] < key) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

__global__ void contains(const int* keys, unsigned char* found, int n, int queries) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    found[q] = keys[lower_bound(keys, n, q)] == q;  // BUG
}
