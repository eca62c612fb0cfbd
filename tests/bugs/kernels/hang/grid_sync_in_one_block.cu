//@ bug: Only the first block of a cooperative launch reaches the grid barrier.
//@ class: hang
//@ buffer: out i32[4] = 0
//@ launch: cooperative phases<<<4, 32>>>(out)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void phases(int* out) {
    cg::grid_group grid = cg::this_grid();
    if (blockIdx.x == 0) grid.sync();  // BUG
    if (threadIdx.x == 0) out[blockIdx.x] = 1;
}
