//@ bug: A block reads the grid's sum plainly while other blocks still add to it.
//@ class: race
//@ buffer: data i32[256] = i
//@ buffer: sum i32[1] = 0
//@ buffer: out f32[256] = 0
//@ launch: normalise<<<4, 64>>>(data, sum, out)

__global__ void normalise(const int* data, int* sum, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sum, data[i]);  // BUG
    __syncthreads();
    out[i] = data[i] / (float)*sum;  // BUG
}
