//@ right: The padding column of a transposed tile is never written and never read.
//@ class: init
//@ buffer: data f32[2048] = i
//@ buffer: out f32[2048] = none
//@ launch: transpose<<<(2, 1), (32, 8)>>>(data, out, 64, 32)
//@ expect: out = data[i % 32 * 64 + i // 32]

__global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
}
