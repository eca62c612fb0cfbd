//@ bug: The consumer runs in another stream than the producer and nothing orders it after.
//@ class: streams
//@ buffer: in f32[1000] = i
//@ buffer: tmp f32[1000] = none
//@ buffer: out f32[1000] = 0
//@ stream: first
//@ stream: second
//@ on: first
//@ launch: square<<<4, 256>>>(in, tmp, 1000)
//@ on: second
//@ launch: difference<<<4, 256>>>(tmp, out, 1000)

__global__ void square(const float* in, float* tmp, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tmp[i] = in[i] * in[i];  // BUG
}

__global__ void difference(const float* tmp, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n) out[i] = tmp[i] - tmp[i - 1];  // BUG
}
