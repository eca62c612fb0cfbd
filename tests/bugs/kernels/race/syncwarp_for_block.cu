//@ bug: Values travel between warps, and only __syncwarp stands between write and read.
//@ class: race
//@ buffer: data i32[64] = i
//@ launch: reverse<<<1, 64>>>(data)

__global__ void reverse(int* data) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = data[t];  // BUG
    __syncwarp();
    data[t] = s[63 - t];  // BUG
}
