//@ bug: __syncthreads_or stands after a short-circuit that some threads of a warp take.
//@ class: sync
//@ buffer: in i32[64] = i - 10
//@ buffer: out i32[64] = 0
//@ launch: any_negative<<<1, 64>>>(in, out)

__global__ void any_negative(const int* in, int* out) {
    __shared__ int hits[64];
    int v = in[threadIdx.x];
    hits[threadIdx.x] = v > 20 || __syncthreads_or(v < 0);  // BUG
    __syncthreads();  // BUG
    out[threadIdx.x] = hits[63 - threadIdx.x];  // BUG
}
