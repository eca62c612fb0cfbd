// The layer normalization of each row of a matrix: (x - mean) / sqrt(variance + epsilon), times a
// scale and plus a shift for each column.
#include "layer_norm.cuh"

// Any matrix: two passes over the row, the second from the caches.
extern "C" __global__ void __launch_bounds__(256)
    layer_norm_passes(const float* __restrict__ from, float* __restrict__ to,
                      const float* __restrict__ scales, const float* __restrict__ shifts,
                      float epsilon, unsigned rows, unsigned columns) {
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    Moments part{0, 0, 0};
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x)
        part = combined(part, {1, from[start + c], 0});
    part = over_block(over_warp(part));
    const float scale = scale_of(part, epsilon);
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x)
        to[start + c] = fmaf((from[start + c] - part.mean) * scale, scales[c], shifts[c]);
}

// The same with 16-byte accesses: columns are a multiple of 4, addresses of 16.
extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_vec16(const float* __restrict__ from, float* __restrict__ to,
                     const float* __restrict__ scales, const float* __restrict__ shifts,
                     float epsilon, unsigned rows, unsigned columns) {
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    const auto* const wide = reinterpret_cast<const float4*>(from + start);
    const unsigned vectors = columns / 4;
    Moments part{0, 0, 0};
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x) {
        const float4 v = wide[i];
        const float mean = sum_of(v) / 4;
        part = combined(part, {4, mean, squares_of(v, mean)});
    }
    part = over_block(over_warp(part));
    const float scale = scale_of(part, epsilon);
    if (threadIdx.x >= vectors) return;
    // Backwards: what was read last is in the caches still.
    const unsigned last = (vectors - 1 - threadIdx.x) / blockDim.x * blockDim.x + threadIdx.x;
    for (unsigned i = last;; i -= blockDim.x) {
        store<Streaming>(to + start, i, __ldcs(wide + i), part.mean, scale, scales, shifts);
        if (i < blockDim.x) break;
    }
}

// A row for each warp, in registers: up to 256 columns, a multiple of 4; addresses are multiples of
// 16. Blocks of one short row each would not be started fast enough.
namespace {
template <unsigned most>
__device__ void layer_norm_of_warp(const float* __restrict__ from, float* __restrict__ to,
                                   const float* __restrict__ scales,
                                   const float* __restrict__ shifts, float epsilon,
                                   unsigned columns) {
    const Share<most, EvictFirst<true>> share(from, columns / 4, threadIdx.x % 32, 32);
    share.finish(to, share.over_warp(), epsilon, scales, shifts);
}
}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    layer_norm_warps(const float* __restrict__ from, float* __restrict__ to,
                     const float* __restrict__ scales, const float* __restrict__ shifts,
                     float epsilon, unsigned rows, unsigned columns) {
    const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    const unsigned long long start = static_cast<unsigned long long>(row) * columns;
    if (columns <= 128)
        layer_norm_of_warp<1>(from + start, to + start, scales, shifts, epsilon, columns);
    else
        layer_norm_of_warp<2>(from + start, to + start, scales, shifts, epsilon, columns);
}

// A row for each block, in registers; columns are a multiple of 4, addresses of 16.
namespace {
template <unsigned most, class Access, unsigned fixed, bool whole>
__device__ void layer_norm_of_block(const float* __restrict__ from, float* __restrict__ to,
                                    const float* __restrict__ scales,
                                    const float* __restrict__ shifts, float epsilon,
                                    unsigned columns) {
    if (whole) columns = 4 * fixed * most;
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    const Share<most, Access, fixed, whole> share(from + start, columns / 4, threadIdx.x,
                                                  blockDim.x);
    share.finish(to + start, over_block(share.over_warp()), epsilon, scales, shifts);
}
}  // namespace

// Up to 8 columns for each thread.
extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_registers_narrow(const float* __restrict__ from, float* __restrict__ to,
                                const float* __restrict__ scales, const float* __restrict__ shifts,
                                float epsilon, unsigned rows, unsigned columns) {
    layer_norm_of_block<2, EvictFirst<true>, 0, false>(from, to, scales, shifts, epsilon, columns);
}

// Up to 16 columns for each thread.
extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_registers(const float* __restrict__ from, float* __restrict__ to,
                         const float* __restrict__ scales, const float* __restrict__ shifts,
                         float epsilon, unsigned rows, unsigned columns) {
    layer_norm_of_block<4, Streaming, 0, false>(from, to, scales, shifts, epsilon, columns);
}

// Up to 32 columns for each thread.
extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_registers_wide(const float* __restrict__ from, float* __restrict__ to,
                              const float* __restrict__ scales, const float* __restrict__ shifts,
                              float epsilon, unsigned rows, unsigned columns) {
    layer_norm_of_block<8, EvictFirst<false>, 0, false>(from, to, scales, shifts, epsilon, columns);
}

// 32,768 columns and 1,024 threads: without any check, there are registers for scales and shifts.
extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_registers_full(const float* __restrict__ from, float* __restrict__ to,
                              const float* __restrict__ scales, const float* __restrict__ shifts,
                              float epsilon, unsigned rows, unsigned columns) {
    layer_norm_of_block<8, EvictFirst<false>, 1024, true>(from, to, scales, shifts, epsilon,
                                                          columns);
}
