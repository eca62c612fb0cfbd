//@ bug: Tiles of 66 columns with a step of 64 overlap, and two blocks store different values.
//@ class: race
//@ buffer: out i32[258] = 0
//@ launch: tiles<<<4, 66>>>(out)

__global__ void tiles(int* out) {
    out[blockIdx.x * 64 + threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;  // BUG
}
