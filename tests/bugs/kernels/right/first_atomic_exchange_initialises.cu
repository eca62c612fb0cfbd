//@ right: A word in shared memory gets its first value by an atomic exchange, not by a store.
//@ class: init
//@ buffer: data i32[64] = i
//@ buffer: out i32[1] = none
//@ launch: sum<<<1, 64>>>(data, out)
//@ expect: out = sum(data)

__global__ void sum(const int* in, int* out) {
    __shared__ int total;
    if (threadIdx.x == 0) atomicExch(&total, 0);
    __syncthreads();
    atomicAdd(&total, in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) *out = total;
}
