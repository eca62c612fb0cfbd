//@ right: Tiles of 8 threads reduce on their own, also where other tiles of the warp don't.
//@ class: sync
//@ buffer: data i32[96] = i
//@ buffer: out i32[12] = 0
//@ launch: tiles<<<1, 96>>>(data, out)
//@ expect: out = sum(data[8 * i:8 * i + 8]) if i % 2 else -1

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void tiles(const int* in, int* out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int index = threadIdx.x / 8, result = -1;
    if (index % 2 == 1) result = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
    if (tile.thread_rank() == 0) out[index] = result;
}
