//@ right: cooperative_groups::memcpy_async and wait, which is also the block's barrier.
//@ class: race
//@ buffer: data i32[200] = 3 * i
//@ buffer: out i32[200] = none
//@ launch: reversed<<<2, 100, 400>>>(data, out)
//@ expect: out = data[i // 100 * 100 + 99 - i % 100]

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

__global__ void reversed(const int* in, int* out) {
    extern __shared__ int tile[];
    auto block = cg::this_thread_block();
    const int base = blockIdx.x * 100;
    cg::memcpy_async(block, tile, in + base, sizeof(int) * 100);
    cg::wait(block);
    out[base + threadIdx.x] = tile[99 - threadIdx.x];
}
