//@ bug: One thread resets the maximum with a plain store while others update it atomically.
//@ class: race
//@ buffer: data i32[256] = (i * 37) % 255
//@ buffer: largest i32[1] = 0
//@ launch: maximum<<<2, 128>>>(data, largest)

__global__ void maximum(const int* data, int* largest) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *largest = -1;  // BUG
    __syncthreads();
    atomicMax(largest, data[blockIdx.x * blockDim.x + threadIdx.x]);  // BUG
}
