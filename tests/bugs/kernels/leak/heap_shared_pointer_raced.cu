//@ bug: Every warp allocates and stores the pointer in one variable; only the last one is freed.
//@ class: leak
//@ buffer: out i32[4] = 0
//@ launch: work<<<1, 128>>>(out)

__global__ void work(int* out) {
    __shared__ unsigned long long scratch;
    if (threadIdx.x == 0) scratch = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int* mine = (int*)malloc(64);  // BUG
        mine[0] = threadIdx.x;
        out[threadIdx.x / 32] = mine[0];
        atomicExch(&scratch, (unsigned long long)mine);
    }
    __syncthreads();
    if (threadIdx.x == 0) free((void*)scratch);
}
