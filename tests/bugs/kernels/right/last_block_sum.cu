//@ right: The last block to finish adds the partial sums; a fence and an atomic ticket order them.
//@ class: race
//@ buffer: data i32[1024] = i % 7
//@ buffer: partial i32[4] = none
//@ buffer: ticket u32[1] = 0
//@ buffer: out i32[1] = none
//@ launch: sum<<<4, 128>>>(data, partial, ticket, out, 1024)
//@ expect: out = sum(data)

extern "C" __global__ void sum(const int* in, volatile int* partial, unsigned* ticket, int* out,
                               int n) {
    __shared__ int s[128];
    __shared__ bool last;
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = total;
    }
}
