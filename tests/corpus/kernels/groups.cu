#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sums(const int* in, int* out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[i];
    for (int step = tile.size() / 2; step > 0; step /= 2) v += tile.shfl_down(v, step);
    if (tile.thread_rank() == 0) out[i / 8] = v;
}
extern "C" __global__ void tile_reduce(const int* in, int* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = cg::reduce(tile, in[i], cg::greater<int>());
    if (tile.thread_rank() == 0) out[i / 16] = v;
}
extern "C" __global__ void coalesced_count(const int* in, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 2 == 0) {
        auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(count, active.size());
    }
}
extern "C" __global__ void grid_steps(int* data, int steps, int n) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int s = 0; s < steps; ++s) {
        int left = data[(i + n - 1) % n];
        grid.sync();
        if (i < n) data[i] += left;
        grid.sync();
    }
}
