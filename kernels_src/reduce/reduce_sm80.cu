// The sum of unsigned integers modulo 2^32; warps use one instruction (redux.sync, 8.0).
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(threads)
    reduce_redux(const unsigned* __restrict__ from, unsigned* to, unsigned* workspace,
                 unsigned long long n) {
    const auto warp_sum = [](unsigned value) { return __reduce_add_sync(full_warp, value); };
    const unsigned partial = sum_of_block(sum_of_share(from, n), warp_sum);
    finish(partial, blockIdx.x, gridDim.x, to, workspace, warp_sum);
}
