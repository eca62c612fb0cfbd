//@ bug: A thread's digit counters start with whatever is on its stack.
//@ class: init
//@ buffer: in u32[32] = i * 40503
//@ buffer: out u32[32] = 0
//@ launch: most_frequent_digit<<<1, 32>>>(in, out)

__global__ void most_frequent_digit(const unsigned* in, unsigned* out) {
    int seen[10];
    for (unsigned v = in[threadIdx.x]; v; v /= 10) seen[v % 10]++;  // BUG
    int best = 0;
    for (int d = 1; d < 10; ++d)
        if (seen[d] > seen[best]) best = d;  // BUG
    out[threadIdx.x] = best;
}
