//@ right: Lanes with equal keys find each other by match, and the lowest of them counts for all.
//@ class: sync
//@ buffer: keys i32[128] = (i * i) % 8
//@ buffer: bins i32[8] = 0
//@ launch: histogram<<<1, 128>>>(keys, bins)
//@ expect: bins = keys.count(i)

__global__ void histogram(const int* keys, int* bins) {
    int key = keys[threadIdx.x];
    unsigned peers = __match_any_sync(0xffffffff, key);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&bins[key], __popc(peers));
}
