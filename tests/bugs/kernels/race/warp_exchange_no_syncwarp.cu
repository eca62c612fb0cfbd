//@ bug: Lanes exchange values through shared memory without __syncwarp.
//@ class: race
//@ buffer: data i32[128] = i
//@ launch: rotate<<<1, 128>>>(data)

__global__ void rotate(int* data) {
    __shared__ int lane_value[128];
    const int t = threadIdx.x, lane = t & 31, warp = t & ~31;
    lane_value[t] = data[t];  // BUG
    data[t] = lane_value[warp + ((lane + 1) & 31)];  // BUG
}
