//@ right: The distance of two buffers is computed in the kernel, and leads from one to the other.
//@ class: bounds
//@ buffer: a i32[64] = i
//@ buffer: b i32[64] = 1000 + i
//@ buffer: out i32[64] = none
//@ launch: add<<<1, 64>>>(a, b, out)
//@ expect: out = 1000 + 2 * i

__global__ void add(const int* a, const int* b, int* out) {
    long long apart = (const char*)b - (const char*)a;
    const int* p = a + threadIdx.x;
    out[threadIdx.x] = *p + *(const int*)((const char*)p + apart);
}
