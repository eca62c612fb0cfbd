//@ right: Threads set bits of shared words by atomicOr and read them after a barrier.
//@ class: race
//@ buffer: data i32[128] = (i * 11) % 64
//@ buffer: out u32[4] = none
//@ launch: flags<<<1, 128>>>(data, out)
//@ expect: out = sum(1 << k for k in range(32) if data[32 * i + k] > 30)

__global__ void flags(const int* in, unsigned* out) {
    __shared__ unsigned word[4];
    if (threadIdx.x < 4) word[threadIdx.x] = 0;
    __syncthreads();
    if (in[threadIdx.x] > 30) atomicOr(&word[threadIdx.x / 32], 1u << threadIdx.x % 32);
    __syncthreads();
    if (threadIdx.x < 4) out[threadIdx.x] = word[threadIdx.x];
}
