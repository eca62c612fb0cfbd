//@ bug: One thread of each block adds to a global counter with a plain load and store.
//@ class: race
//@ buffer: data f32[1024] = i % 10
//@ buffer: hits i32[1] = 0
//@ launch: count_large<<<8, 128>>>(data, hits)

__global__ void count_large(const float* data, int* hits) {
    int mine = __syncthreads_count(data[blockIdx.x * blockDim.x + threadIdx.x] > 5.f);
    if (threadIdx.x == 0) *hits += mine;  // BUG
}
