//@ right: Two buffers change roles after every grid barrier.
//@ class: race
//@ buffer: a i32[128] = i
//@ buffer: b i32[128] = none
//@ launch: cooperative rotate<<<4, 32>>>(a, b, 6)
//@ holds: a == [(i + 6) % 128 for i in range(128)]

#include <cooperative_groups.h>

__global__ void rotate(int* a, int* b, int steps) {
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int k = 0; k < steps; ++k) {
        b[i] = a[(i + 1) % n];
        grid.sync();
        int* other = a;
        a = b;
        b = other;
    }
}
