//@ bug: The compare-and-swap loop never rereads the value that it expects.
//@ class: hang
//@ buffer: largest f32[1] = 0
//@ buffer: data f32[64] = i
//@ launch: maximum<<<2, 32>>>(largest, data)

__global__ void maximum(float* largest, const float* data) {
    float mine = data[blockIdx.x * blockDim.x + threadIdx.x];
    int expected = __float_as_int(-1.0f);
    int* word = reinterpret_cast<int*>(largest);
    while (atomicCAS(word, expected, __float_as_int(mine)) != expected) {}  // BUG
}
