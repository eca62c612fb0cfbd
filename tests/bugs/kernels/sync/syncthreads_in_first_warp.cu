//@ bug: The first warp has one barrier more, so its barriers meet the wrong ones of the other warp.
//@ class: sync
//@ buffer: out i32[64] = 0
//@ launch: stage<<<1, 64>>>(out)

__global__ void stage(int* out) {
    __shared__ int value, total;
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) value = 5;
        __syncthreads();  // BUG
        if (threadIdx.x == 0) total = 2 * value;  // BUG
    }
    __syncthreads();  // BUG
    out[threadIdx.x] = total;  // BUG
}
