//@ bug: The first warp has one barrier more, so its barriers meet the wrong ones of the other warp.
//@ class: sync
//@ buffer: in i32[64] = i
//@ buffer: out i32[64] = 0
//@ launch: stage<<<1, 64>>>(in, out)

__global__ void stage(const int* in, int* out) {
    __shared__ int part[32], total;
    if (threadIdx.x < 32) {
        part[threadIdx.x] = in[threadIdx.x] + in[threadIdx.x + 32];
        __syncthreads();  // BUG
        if (threadIdx.x == 0) {
            total = 0;  // BUG
            for (int k = 0; k < 32; ++k) total += part[k];  // BUG
        }
    }
    __syncthreads();  // BUG
    out[threadIdx.x] = total;  // BUG
}
