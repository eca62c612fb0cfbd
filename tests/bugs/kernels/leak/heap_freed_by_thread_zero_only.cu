//@ bug: All threads allocate, but only thread 0 frees its memory.
//@ class: leak
//@ buffer: out f32[32] = 0
//@ launch: work<<<1, 32>>>(out)

__global__ void work(float* out) {
    float* scratch = new float[8];  // BUG
    for (int k = 0; k < 8; ++k) scratch[k] = k * threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += scratch[(k + threadIdx.x) & 7];
    out[threadIdx.x] = sum;
    if (threadIdx.x == 0) delete[] scratch;
}
