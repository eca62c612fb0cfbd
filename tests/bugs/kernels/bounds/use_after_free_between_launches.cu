//@ bug: The host frees the scratch buffer while the second kernel still gets its address.
//@ class: bounds
//@ buffer: data f32[256] = i
//@ buffer: scratch f32[256] = 0
//@ launch: square<<<1, 256>>>(data, scratch)
//@ free: scratch
//@ launch: add_back<<<1, 256>>>(data, scratch)

__global__ void square(const float* data, float* scratch) {
    scratch[threadIdx.x] = data[threadIdx.x] * data[threadIdx.x];
}

__global__ void add_back(float* data, const float* scratch) {
    data[threadIdx.x] += scratch[threadIdx.x];  // BUG
}
