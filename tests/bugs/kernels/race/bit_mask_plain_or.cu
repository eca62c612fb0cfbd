//@ bug: Threads set different bits of the same shared word with a plain read, or and write.
//@ class: race
//@ buffer: data i32[64] = i * 5 % 9
//@ buffer: mask u32[2] = 0
//@ launch: flags<<<1, 64>>>(data, mask)

__global__ void flags(const int* data, unsigned* mask) {
    __shared__ unsigned word[2];
    if (threadIdx.x < 2) word[threadIdx.x] = 0;
    __syncthreads();
    if (data[threadIdx.x] > 4) word[threadIdx.x / 32] |= 1u << (threadIdx.x % 32);  // BUG
    __syncthreads();
    if (threadIdx.x < 2) mask[threadIdx.x] = word[threadIdx.x];
}
