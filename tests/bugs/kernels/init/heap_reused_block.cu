//@ bug: A block that was freed and allocated again is expected to be zero, as it was the first time.
//@ class: init
//@ buffer: out i32[1] = 0
//@ launch: twice<<<1, 1>>>(out)

__global__ void twice(int* out) {
    int* a = new int[8]();
    a[3] = 7;
    int sum = a[3];
    delete[] a;
    int* b = new int[8];
    for (int k = 0; k < 8; ++k) sum += ((volatile int*)b)[k];  // BUG
    *out = sum;
    delete[] b;
}
