//@ bug: A scan step reads its left neighbour and writes its own cell without a barrier between.
//@ class: race
//@ buffer: data i32[128] = 1
//@ launch: scan<<<1, 128>>>(data)

__global__ void scan(int* data) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (int d = 1; d < 128; d <<= 1) {
        if (t >= d) s[t] += s[t - d];  // BUG
        __syncthreads();
    }
    data[t] = s[t];
}
