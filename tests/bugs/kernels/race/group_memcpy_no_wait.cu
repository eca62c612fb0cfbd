//@ bug: A cooperative group's asynchronous copy is read after a barrier, but never waited for.
//@ class: race
//@ buffer: in i32[128] = i
//@ buffer: out i32[128] = 0
//@ launch: doubled<<<1, 128>>>(in, out)

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

__global__ void doubled(const int* in, int* out) {
    __shared__ alignas(16) int tile[128];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, sizeof(tile));  // BUG
    block.sync();
    out[threadIdx.x] = 2 * tile[127 - threadIdx.x];  // BUG
}
