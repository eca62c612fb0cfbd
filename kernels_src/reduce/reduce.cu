// The sum of unsigned integers modulo 2^32; warps use shuffles.
#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(threads)
    reduce_shuffle(const unsigned* __restrict__ from, unsigned* to, unsigned* workspace,
                   unsigned long long n) {
    const auto warp_sum = [](unsigned value) {
        for (int offset = 16; offset > 0; offset /= 2)
            value += __shfl_down_sync(full_warp, value, offset);
        return value;
    };
    const unsigned partial = sum_of_block(sum_of_share(from, n), warp_sum);
    finish(partial, blockIdx.x, gridDim.x, to, workspace, warp_sum);
}
