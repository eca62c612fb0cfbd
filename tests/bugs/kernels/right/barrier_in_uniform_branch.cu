//@ right: The barrier stands in a branch that whole blocks take or leave.
//@ class: sync
//@ buffer: data i32[128] = i
//@ launch: reverse_odd_blocks<<<4, 32>>>(data)
//@ expect: data = data[i] if i // 32 % 2 == 0 else data[i // 32 * 32 + 31 - i % 32]

__global__ void reverse_odd_blocks(int* data) {
    __shared__ int s[32];
    int* mine = data + blockIdx.x * 32;
    if (blockIdx.x % 2 == 1) {
        s[threadIdx.x] = mine[threadIdx.x];
        __syncthreads();
        mine[threadIdx.x] = s[31 - threadIdx.x];
    }
}
