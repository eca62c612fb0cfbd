//@ bug: The rows of a padded tile are summed with their padding column, which nobody writes.
//@ class: init
//@ buffer: in f32[256] = i
//@ buffer: out f32[16] = 0
//@ launch: rows<<<1, (16, 16)>>>(in, out)

__global__ void rows(const float* in, float* out) {
    __shared__ float tile[16][17];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x];
    __syncthreads();
    if (threadIdx.y == 0) {
        float sum = 0;
        for (int k = 0; k <= 16; ++k) sum += tile[threadIdx.x][k];  // BUG
        out[threadIdx.x] = sum;
    }
}
