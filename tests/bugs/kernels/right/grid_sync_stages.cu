//@ right: A cooperative launch: the second stage reads other blocks' results after grid.sync().
//@ class: race
//@ buffer: data f32[256] = i
//@ buffer: tmp f32[256] = none
//@ buffer: out f32[256] = none
//@ launch: cooperative stages<<<4, 64>>>(data, tmp, out, 256)
//@ expect: out = float(data[i - 1 if i else 255] * 2 + data[(i + 1) % 256] * 2)

#include <cooperative_groups.h>

__global__ void stages(const float* in, float* tmp, float* out, int n) {
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank();
    tmp[i] = 2 * in[i];
    grid.sync();
    out[i] = tmp[(i + n - 1) % n] + tmp[(i + 1) % n];
}
