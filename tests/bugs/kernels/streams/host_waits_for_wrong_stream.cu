//@ bug: The host waits for another stream than the producer's before it launches the consumer.
//@ class: streams
//@ buffer: a f32[320] = i
//@ buffer: b f32[320] = 0
//@ buffer: c f32[320] = 0
//@ stream: one
//@ stream: two
//@ stream: three
//@ on: one
//@ launch: add<<<5, 64>>>(a, 1.5f)
//@ on: two
//@ launch: add<<<5, 64>>>(b, 2.5f)
//@ sync: two
//@ on: three
//@ launch: combine<<<5, 64>>>(a, b, c)

__global__ void add(float* data, float value) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += value;  // BUG
}

__global__ void combine(const float* a, const float* b, float* c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] * b[i];  // BUG
}
