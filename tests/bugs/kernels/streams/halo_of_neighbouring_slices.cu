//@ bug: Each of two streams updates its slice in place and reads a halo that the other writes.
//@ class: streams
//@ buffer: u f32[258] = (i * 13) % 32
//@ stream: left
//@ stream: right
//@ on: left
//@ launch: smooth<<<1, 128>>>(u+4)
//@ on: right
//@ launch: smooth<<<1, 128>>>(u+516)

__global__ void smooth(float* slice) {
    int i = threadIdx.x;
    float before = slice[i - 1], after = slice[i + 1];  // BUG
    __syncthreads();
    slice[i] = 0.5f * (before + after);  // BUG
}
