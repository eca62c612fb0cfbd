//@ bug: The block's maximum has no first value.
//@ class: init
//@ buffer: in i32[128] = i - 200
//@ buffer: out i32[1] = 0
//@ launch: maximum<<<1, 128>>>(in, out)

__global__ void maximum(const int* in, int* out) {
    __shared__ int largest;
    atomicMax(&largest, in[threadIdx.x]);  // BUG
    __syncthreads();
    if (threadIdx.x == 0) *out = largest;
}
