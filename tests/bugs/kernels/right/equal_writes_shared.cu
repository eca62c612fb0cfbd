//@ right: Threads of several warps store true to one shared flag, which is read after a barrier.
//@ class: race
//@ buffer: data i32[128] = i - 100
//@ buffer: out i32[1] = none
//@ launch: any_positive<<<1, 128>>>(data, out)
//@ expect: out = 1

__global__ void any_positive(const int* in, int* out) {
    __shared__ bool any;
    if (threadIdx.x == 0) any = false;
    __syncthreads();
    if (in[threadIdx.x] > 0) any = true;
    __syncthreads();
    if (threadIdx.x == 0) *out = any;
}
