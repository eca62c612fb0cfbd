//@ bug: A hand-made grid barrier needs all blocks at once, and the launch has far too many.
//@ class: hang
//@ buffer: arrived i32[1] = 0
//@ buffer: data f32[1] = 0
//@ launch: phases<<<50000, 256>>>(arrived, data)

__device__ void grid_barrier(int* arrived) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}  // BUG
    }
    __syncthreads();
}

__global__ void phases(int* arrived, float* data) {
    if (threadIdx.x == 0) atomicAdd(data, 1.0f);
    grid_barrier(arrived);
    if (threadIdx.x == 0) atomicAdd(data, 1.0f);
}
