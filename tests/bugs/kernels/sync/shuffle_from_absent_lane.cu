//@ bug: Sixteen lanes shuffle with a right mask, but read from a lane that isn't in it.
//@ class: sync
//@ buffer: data f32[32] = i
//@ launch: broadcast<<<1, 32>>>(data)

__global__ void broadcast(float* data) {
    float v = data[threadIdx.x];
    if (threadIdx.x < 16)
        data[threadIdx.x] = __shfl_sync(0x0000ffff, v, 24);  // BUG
}
