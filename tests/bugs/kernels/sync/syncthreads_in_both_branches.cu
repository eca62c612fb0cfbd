//@ bug: The threads of one warp meet two different barriers, one in each branch.
//@ class: sync
//@ buffer: data i32[64] = i
//@ launch: split<<<1, 64>>>(data)

__global__ void split(int* data) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = data[t];
    if (t % 2 == 0) {
        __syncthreads();  // BUG
        data[t] = s[63 - t] + 1;
    } else {
        __syncthreads();  // BUG
        data[t] = s[63 - t] - 1;
    }
}
