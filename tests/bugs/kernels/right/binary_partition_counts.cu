//@ right: A labelled partition groups the lanes by parity, and each group counts itself.
//@ class: sync
//@ buffer: data i32[64] = i * i % 7
//@ buffer: out i32[64] = none
//@ launch: counts<<<1, 64>>>(data, out)
//@ expect: out = sum(1 for k in range(i // 32 * 32, i // 32 * 32 + 32) if data[k] % 2 == data[i] % 2)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void counts(const int* in, int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto half = cg::binary_partition(warp, in[threadIdx.x] % 2 == 1);
    out[threadIdx.x] = half.size();
}
