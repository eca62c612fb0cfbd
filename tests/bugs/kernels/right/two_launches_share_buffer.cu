//@ right: The second kernel reads what other blocks of the first one wrote: a launch orders them.
//@ class: race
//@ buffer: tmp f32[256] = none
//@ buffer: out f32[256] = none
//@ launch: first<<<4, 64>>>(tmp)
//@ launch: second<<<4, 64>>>(tmp, out)
//@ expect: out = float(3 * (255 - i))

__global__ void first(float* tmp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tmp[i] = 3 * i;
}

__global__ void second(const float* tmp, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tmp[gridDim.x * blockDim.x - 1 - i];
}
