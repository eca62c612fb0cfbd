//@ bug: The loop that clears the second tile starts at -1 and hits the tile before it.
//@ class: bounds
//@ buffer: out i32[128] = 0
//@ launch: two_tiles<<<1, 64>>>(out)

__global__ void two_tiles(int* out) {
    __shared__ int a[64];
    __shared__ int b[64];
    int t = threadIdx.x;
    a[t] = t;
    b[t] = 2 * t;
    __syncthreads();
    if (t == 0)
        for (int k = -1; k < 4; ++k)
            b[k] = 0;  // BUG
    __syncthreads();
    out[t] = a[t];
    out[64 + t] = b[t];
}
