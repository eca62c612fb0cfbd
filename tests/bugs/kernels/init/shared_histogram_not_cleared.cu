//@ bug: The bins in shared memory aren't set to zero before they are counted up.
//@ class: init
//@ buffer: keys u8[256] = i
//@ buffer: out u32[32] = 0
//@ launch: histogram<<<1, 256>>>(keys, out)

__global__ void histogram(const unsigned char* keys, unsigned* out) {
    __shared__ unsigned bins[32];
    __syncthreads();
    atomicAdd(&bins[keys[threadIdx.x] >> 3], 1u);  // BUG
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
