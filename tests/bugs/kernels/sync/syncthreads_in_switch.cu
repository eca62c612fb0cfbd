//@ bug: Only two roles of a block's warps have the first barrier; the third is one barrier late.
//@ class: sync
//@ buffer: out i32[96] = 0
//@ launch: roles<<<1, 96>>>(out)

__global__ void roles(int* out) {
    __shared__ int mail[32], sum[32];
    int lane = threadIdx.x & 31;
    switch (threadIdx.x / 32) {
        case 0:
            mail[lane] = lane;
            __syncthreads();  // BUG
            break;
        case 1:
            __syncthreads();  // BUG
            sum[lane] = mail[lane] + mail[31 - lane];  // BUG
            break;
        default:
            out[lane] = lane;
            break;
    }
    __syncthreads();  // BUG
    out[threadIdx.x] = sum[lane];  // BUG
}
