//@ bug: Neighbouring ints are fetched as one int2, which half of the threads can't.
//@ class: alignment
//@ buffer: a i32[256] = i * i
//@ buffer: d i32[255] = 0
//@ launch: gaps<<<1, 255>>>(a, d)

__global__ void gaps(const int* __restrict__ a, int* __restrict__ d) {
    int2 ab = __ldg(reinterpret_cast<const int2*>(a + threadIdx.x));  // BUG
    d[threadIdx.x] = ab.y - ab.x;
}
