//@ bug: The keys' piece of dynamic shared memory is counted in elements but sized in bytes.
//@ class: bounds
//@ buffer: keys i32[64] = 63 - i
//@ buffer: out f32[64] = 0
//@ launch: carve<<<1, 64, 512>>>(keys, out)

// Dynamic shared memory: 64 ints, then 64 floats.
__global__ void carve(const int* keys, float* out) {
    extern __shared__ unsigned char pool[];
    int* s_keys = reinterpret_cast<int*>(pool);
    float* s_values = reinterpret_cast<float*>(s_keys + 64 * sizeof(int));
    s_keys[threadIdx.x] = keys[threadIdx.x];
    s_values[threadIdx.x] = 0.5f * threadIdx.x;  // BUG
    __syncthreads();
    out[threadIdx.x] = s_values[s_keys[threadIdx.x]];
}
