//@ bug: The event is recorded on the consumer's own stream instead of the producer's.
//@ class: streams
//@ buffer: a i32[640] = i
//@ buffer: b i32[640] = 640 - i
//@ buffer: best i32[1] = 0
//@ stream: producer
//@ stream: consumer
//@ on: producer
//@ launch: multiply<<<5, 128>>>(a, b)
//@ on: consumer
//@ record: multiplied
//@ await: multiplied
//@ launch: maximum<<<5, 128>>>(a, best)

__global__ void multiply(int* a, const int* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] *= b[i];  // BUG
}

__global__ void maximum(const int* a, int* best) {
    int v = a[blockIdx.x * blockDim.x + threadIdx.x];  // BUG
    for (int d = 16; d > 0; d >>= 1) v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
    if (threadIdx.x % 32 == 0) atomicMax(best, v);
}
