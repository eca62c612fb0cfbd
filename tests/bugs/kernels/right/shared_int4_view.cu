//@ right: An aligned int array in shared memory is read in pieces of four, also with byte stores.
//@ class: alignment
//@ buffer: out i32[16] = none
//@ launch: view<<<1, 64>>>(out)
//@ expect: out = sum(4 * i + k for k in range(4)) + 256

__global__ void view(int* out) {
    __shared__ alignas(16) int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    // Byte 1 of each fourth element: its value grows by 256.
    if (threadIdx.x % 4 == 0) reinterpret_cast<unsigned char*>(&s[threadIdx.x])[1] = 1;
    __syncthreads();
    if (threadIdx.x < 16) {
        int4 v = reinterpret_cast<const int4*>(s)[threadIdx.x];
        out[threadIdx.x] = v.x + v.y + v.z + v.w;
    }
}
