//@ right: Blocks add to one tile in turns; a barrier and a fence pass the turn on.
//@ class: race
//@ buffer: tile i32[64] = 0
//@ buffer: turn i32[1] = 0
//@ launch: accumulate<<<3, 64>>>(tile, turn)
//@ expect: tile = 3 * i + 3

__global__ void accumulate(int* tile, volatile int* turn) {
    int t = threadIdx.x;
    if (t == 0) {
        while (*turn != blockIdx.x) {}
    }
    __syncthreads();
    __threadfence();
    tile[t] += t + blockIdx.x;
    __threadfence();
    __syncthreads();
    if (t == 0) *turn = blockIdx.x + 1;
}
