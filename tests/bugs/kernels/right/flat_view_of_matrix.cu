//@ right: A matrix in shared memory is filled row by row and read as one flat array.
//@ class: bounds
//@ buffer: out f32[64] = none
//@ launch: flat<<<1, 64>>>(out)
//@ expect: out = float((63 - i) // 8 * 10 + (63 - i) % 8)

__global__ void flat(float* out) {
    __shared__ float m[8][8];
    m[threadIdx.x / 8][threadIdx.x % 8] = threadIdx.x / 8 * 10 + threadIdx.x % 8;
    __syncthreads();
    const float* all = &m[0][0];
    out[threadIdx.x] = all[63 - threadIdx.x];
}
