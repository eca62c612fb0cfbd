//@ bug: The counters come from malloc, which doesn't clear memory.
//@ class: init
//@ buffer: in i32[320] = i * i
//@ buffer: out i32[32] = 0
//@ launch: counters<<<1, 32>>>(in, out)

__global__ void counters(const int* in, int* out) {
    int* count = (int*)malloc(10 * sizeof(int));
    for (int k = 0; k < 10; ++k) {
        int digit = in[threadIdx.x * 10 + k] % 10;
        count[digit]++;  // BUG
    }
    out[threadIdx.x] = count[0] + count[1];  // BUG
    free(count);
}
