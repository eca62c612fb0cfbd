//@ bug: The event is recorded before the producer is launched, so that it says nothing of its end.
//@ class: streams
//@ buffer: keys u32[512] = 2654435761 * i
//@ buffer: ranks u32[512] = none
//@ buffer: out u32[512] = 0
//@ stream: rank
//@ stream: scatter
//@ on: rank
//@ record: ranked
//@ launch: count_smaller<<<4, 128>>>(keys, ranks, 512)
//@ on: scatter
//@ await: ranked
//@ launch: place<<<2, 256>>>(keys, ranks, out)

__global__ void count_smaller(const unsigned* keys, unsigned* ranks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned rank = 0;
    for (int k = 0; k < n; ++k) rank += keys[k] < keys[i];
    ranks[i] = rank;  // BUG
}

__global__ void place(const unsigned* keys, const unsigned* ranks, unsigned* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned rank = ranks[i];  // BUG
    if (rank < 512) out[rank] = keys[i];
}
