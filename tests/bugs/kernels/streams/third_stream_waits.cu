//@ bug: A third stream waits for the producer's event; the consumer's stream doesn't.
//@ class: streams
//@ buffer: grid f32[384] = i % 24
//@ buffer: image f32[384] = 0
//@ buffer: log i32[1] = 0
//@ stream: simulate
//@ stream: render
//@ stream: report
//@ on: simulate
//@ launch: relax<<<(1, 16), 24>>>(grid)
//@ record: relaxed
//@ on: report
//@ await: relaxed
//@ launch: count<<<1, 1>>>(log)
//@ on: render
//@ launch: shade<<<(1, 16), (24, 1)>>>(grid, image)

__global__ void relax(float* grid) {
    float* row = grid + blockIdx.y * 24;
    int x = threadIdx.x;
    float v = 0.5f * (row[x] + row[(x + 1) % 24]);
    __syncthreads();
    row[x] = v;  // BUG
}

__global__ void count(int* log) { ++*log; }

__global__ void shade(const float* grid, float* image) {
    int i = blockIdx.y * 24 + threadIdx.x;
    image[i] = grid[i] > 10 ? 1.0f : grid[i] / 10;  // BUG
}
