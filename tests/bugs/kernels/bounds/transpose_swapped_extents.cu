//@ bug: The guard compares x with the rows and y with the columns; wide matrices overrun.
//@ class: bounds
//@ buffer: in f32[1536] = i
//@ buffer: out f32[1536] = 0
//@ launch: transpose<<<(3, 4), (16, 16)>>>(in, out, 48, 32)

__global__ void transpose(const float* in, float* out, int rows, int cols) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < rows && y < cols)
        out[x * rows + y] = in[y * cols + x];  // BUG
}
