// The sum of integers modulo 2^32; warps use one instruction (redux.sync, 8.0).
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(threads)
    reduce_redux(const element* __restrict__ from, element* to, element* workspace,
                 unsigned long long n) {
    const auto warp_sum = [](element value) { return __reduce_add_sync(full_warp, value); };
    const element partial = sum_of_block(sum_of_share(from, n), warp_sum);
    finish(partial, blockIdx.x, gridDim.x, to, workspace, warp_sum);
}
