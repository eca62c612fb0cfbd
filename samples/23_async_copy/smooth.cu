#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

constexpr int tile = 256;  // Elements of a block's step: one for each thread.

// The mean of each element and the 255 before it in its tile, by a loop in shared memory.
__device__ float mean_in_tile(const float* values) {
    float sum = 0;
    for (int i = 0; i <= int(threadIdx.x); ++i)
        sum += values[i];
    return sum / float(threadIdx.x + 1);
}

// Each step loads a tile through registers and waits for it.
extern "C" __global__ void with_loads(const float* x, float* y, int tiles) {
    __shared__ float values[tile];
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        values[threadIdx.x] = x[t * tile + threadIdx.x];
        __syncthreads();
        y[t * tile + threadIdx.x] = mean_in_tile(values);
        __syncthreads();
    }
}

// The copy of the next tile runs while the block computes this one: global memory to shared memory,
// without registers (cp.async from 8.0 on; older devices copy through registers).
extern "C" __global__ void with_copies(const float* x, float* y, int tiles) {
    namespace cg = cooperative_groups;
    __shared__ alignas(16) float values[2][tile];
    const auto block = cg::this_thread_block();
    int t = blockIdx.x;
    if (t < tiles) cg::memcpy_async(block, values[0], x + t * tile, sizeof values[0]);
    for (int step = 0; t < tiles; ++step, t += gridDim.x) {
        const int next = t + gridDim.x;
        if (next < tiles) {
            cg::memcpy_async(block, values[(step + 1) % 2], x + next * tile, sizeof values[0]);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        y[t * tile + threadIdx.x] = mean_in_tile(values[step % 2]);
        block.sync();  // Before the buffer is filled again.
    }
}
