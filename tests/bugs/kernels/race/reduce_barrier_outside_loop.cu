//@ bug: The barrier stands after the loop of the tree instead of in it.
//@ class: race
//@ buffer: in i32[128] = i
//@ buffer: out i32[1] = 0
//@ launch: reduce<<<1, 128>>>(in, out)

__global__ void reduce(const int* in, int* out) {
    __shared__ int partial[128];
    const unsigned tid = threadIdx.x;
    partial[tid] = in[tid];
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2)
        if (tid < stride) partial[tid] += partial[tid + stride];  // BUG
    __syncthreads();
    if (tid == 0) out[0] = partial[0];
}
