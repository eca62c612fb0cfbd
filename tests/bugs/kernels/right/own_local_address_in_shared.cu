//@ right: Each thread keeps the address of its own local array in shared memory, and uses only that.
//@ class: bounds
//@ buffer: in i32[64] = i
//@ buffer: out i32[64] = none
//@ launch: remember<<<1, 64>>>(in, out, 3)
//@ expect: out = i + 3 if i % 4 == 3 else i + 30

__global__ void remember(const int* in, int* out, int step) {
    __shared__ int* where[64];
    int mine[4];
    for (int k = 0; k < 4; ++k) mine[k] = in[threadIdx.x] + 10 * step;
    mine[step] = in[threadIdx.x] + step;
    where[threadIdx.x] = mine;
    __syncwarp();
    out[threadIdx.x] = where[threadIdx.x][threadIdx.x % 4];
}
