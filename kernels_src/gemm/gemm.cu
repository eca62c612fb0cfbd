// The portable matrix product: 64 x 64 tiles in shared memory, 4 x 4 elements per thread, no tensor
// cores, any size, every type and layout of gemm.cuh.
#include "gemm.cuh"

namespace {
constexpr unsigned tile = 64;
constexpr unsigned step = 16;
constexpr unsigned threads = 256;
constexpr unsigned pitch = tile + 4;  // Keeps the 16-byte alignment of a row.

/// Loads `tile` rows of `step` elements with k across; zeros outside.
template <bool mn_major>
__device__ void load(float (&to)[step][pitch], const element_bits* __restrict__ from,
                     unsigned first, unsigned rows, unsigned k, unsigned k0) {
#pragma unroll
    for (unsigned i = threadIdx.x; i < tile * step; i += threads) {
        const unsigned row = mn_major ? i % tile : i / step;
        const unsigned kk = mn_major ? i / tile : i % step;
        const bool inside = first + row < rows && k0 + kk < k;
        const auto at = mn_major ? static_cast<unsigned long long>(k0 + kk) * rows + first + row
                                 : static_cast<unsigned long long>(first + row) * k + k0 + kk;
        to[kk][row] = inside ? to_float(from[at]) : 0.0F;
    }
}
}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    gemm_tiled(const element_bits* __restrict__ a, const element_bits* __restrict__ b,
               half_bits* __restrict__ c, unsigned m, unsigned n, unsigned k, float scale,
               const float* __restrict__ operand) {
    __shared__ __align__(16) float of_a[step][pitch];
    __shared__ __align__(16) float of_b[step][pitch];
    const auto place = place_of(blockIdx.x, (m + tile - 1) / tile, (n + tile - 1) / tile);
    const unsigned row = threadIdx.x / 16 * 4;
    const unsigned column = threadIdx.x % 16 * 4;
    float sum[4][4] = {};
    for (unsigned k0 = 0; k0 < k; k0 += step) {
        load<a_m_major>(of_a, a, place.m * tile, m, k, k0);
        load<b_n_major>(of_b, b, place.n * tile, n, k, k0);
        __syncthreads();
#pragma unroll
        for (unsigned kk = 0; kk < step; ++kk) {
            const float4 u = *reinterpret_cast<const float4*>(&of_a[kk][row]);
            const float4 v = *reinterpret_cast<const float4*>(&of_b[kk][column]);
            const float us[4] = {u.x, u.y, u.z, u.w};
            const float vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
                for (unsigned j = 0; j < 4; ++j)
                    sum[i][j] = fmaf(us[i], vs[j], sum[i][j]);
            }
        }
        __syncthreads();
    }
    const Epilogue epilogue{scale, operand, m, n};
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned r = place.m * tile + row + i;
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned col = place.n * tile + column + j;
            if (r < m && col < n)
                c[static_cast<unsigned long long>(r) * n + col] =
                    to_half(epilogue.of(sum[i][j], r, col));
        }
    }
}
