//@ bug: Lanes with a key call match with a full mask although others have skipped it.
//@ class: sync
//@ buffer: keys i32[32] = i % 4 - 1
//@ buffer: counts i32[4] = 0
//@ launch: aggregate<<<1, 32>>>(keys, counts)

__global__ void aggregate(const int* keys, int* counts) {
    int key = keys[threadIdx.x];
    if (key >= 0) {
        unsigned peers = __match_any_sync(0xffffffff, key);  // BUG
        int leader = __ffs(peers) - 1;
        if (threadIdx.x == leader) atomicAdd(&counts[key], __popc(peers));
    }
    unsigned skipped = __ballot_sync(0xffffffff, key < 0);
    if (threadIdx.x == 0) counts[3] = __popc(skipped);
}
