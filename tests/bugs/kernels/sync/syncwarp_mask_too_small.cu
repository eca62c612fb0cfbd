//@ bug: All lanes call __syncwarp with a mask that leaves half of them out.
//@ class: sync
//@ buffer: data i32[32] = i
//@ launch: reverse<<<1, 32>>>(data)

__global__ void reverse(int* data) {
    __shared__ int s[32];
    s[threadIdx.x] = data[threadIdx.x];
    __syncwarp(0x0000ffff);  // BUG
    data[threadIdx.x] = s[31 - threadIdx.x];
}
