//@ right: A maximum of floats by a compare-and-swap loop that rereads what it expects.
//@ class: hang
//@ buffer: data f32[256] = (i * 37) % 256
//@ buffer: largest f32[1] = -1
//@ launch: maximum<<<4, 64>>>(data, largest)
//@ expect: largest = 255.0

__device__ void atomic_max(float* address, float value) {
    int* word = reinterpret_cast<int*>(address);
    int old = *word;
    while (__int_as_float(old) < value) {
        int assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(value));
        if (old == assumed) break;
    }
}

__global__ void maximum(const float* data, float* largest) {
    float v = data[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
    if (threadIdx.x % 32 == 0) atomic_max(largest, v);
}
