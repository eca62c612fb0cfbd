//@ bug: malloc gets the number of elements instead of bytes; writes leave the heap block.
//@ class: bounds
//@ buffer: out i32[16] = 0
//@ launch: buckets<<<1, 16>>>(out, 50)

__global__ void buckets(int* out, int count) {
    volatile int* bucket = (int*)malloc(count);
    if (bucket == nullptr) return;
    for (int k = 0; k < count; ++k)
        bucket[k] = k * threadIdx.x;  // BUG
    int sum = 0;
    for (int k = 0; k < count; ++k) sum += bucket[k];
    out[threadIdx.x] = sum;
    free((void*)bucket);
}
