// The sum of integers modulo 2^32 or 2^64, or of floats, or what an operator of the user's makes of
// the elements, in an unspecified order; warps use shuffles.
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(threads)
    reduce_shuffle(const element* __restrict__ from, element* to, element* workspace,
                   unsigned long long n) {
    const element partial = sum_of_block(sum_of_share(from, n), ShuffleSum{});
    finish(partial, blockIdx.x, gridDim.x, to, workspace, ShuffleSum{});
}
