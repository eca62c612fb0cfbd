//@ bug: A tile of 8 threads reduces while some of its threads skip the call.
//@ class: sync
//@ buffer: in i32[64] = i
//@ buffer: out i32[64] = 0
//@ launch: tiles<<<1, 64>>>(in, out)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void tiles(const int* in, int* out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = in[threadIdx.x];
    if (v % 3 != 0) {
        for (int d = 4; d > 0; d /= 2) v += tile.shfl_xor(v, d);  // BUG
    }
    v = tile.shfl(v, 1);
    out[threadIdx.x] = v;
}
