//@ right: Blocks take work items by an atomic counter; one thread asks, and a barrier spreads it.
//@ class: race
//@ buffer: next i32[1] = 0
//@ buffer: out i32[320] = -1
//@ launch: worker<<<3, 32>>>(next, out, 10)
//@ expect: out = i // 32 * 100 + i % 32

__global__ void worker(int* next, int* out, int items) {
    __shared__ int item;
    while (true) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        if (mine >= items) return;
        out[mine * 32 + threadIdx.x] = mine * 100 + threadIdx.x;
    }
}
