//@ bug: The host allocates the sum's buffer but never clears it.
//@ class: init
//@ buffer: in f32[512] = 1
//@ buffer: sum f32[1] = none
//@ launch: add_up<<<4, 128>>>(in, sum)

__global__ void add_up(const float* in, float* sum) {
    float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, v);  // BUG
}
