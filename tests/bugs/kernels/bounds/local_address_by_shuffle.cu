//@ bug: A lane gets the address of another lane's local array by a shuffle.
//@ class: bounds
//@ buffer: in i32[32] = i
//@ buffer: out i32[32] = 0
//@ launch: share<<<1, 32>>>(in, out)

__global__ void share(const int* in, int* out) {
    int mine[8];
    for (int k = 0; k < 8; ++k) mine[k] = in[(threadIdx.x + k) % 32];
    unsigned long long address = (unsigned long long)&mine[in[threadIdx.x] % 8];
    address = __shfl_sync(0xffffffff, address, 0);
    out[threadIdx.x] = *(int*)address;  // BUG
}
