//@ bug: The tile is read transposed before the other threads have written it.
//@ class: race
//@ buffer: in f32[1024] = i
//@ buffer: out f32[1024] = 0
//@ launch: transpose<<<1, (32, 32)>>>(in, out)

__global__ void transpose(const float* in, float* out) {
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];  // BUG
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // BUG
}
