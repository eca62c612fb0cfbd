//@ right: One thread resets a counter plainly; the grid's barrier orders it before all atomics.
//@ class: race
//@ buffer: count i32[1] = 77
//@ launch: cooperative tally<<<4, 32>>>(count)
//@ expect: count = 128

#include <cooperative_groups.h>

__global__ void tally(int* count) {
    auto grid = cooperative_groups::this_grid();
    if (grid.thread_rank() == 0) *count = 0;
    grid.sync();
    atomicAdd(count, 1);
}
