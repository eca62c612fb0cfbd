// Softmax of each row of a matrix: exp(x - max) / sum of exp(x - max).
#include "softmax.cuh"

// Any matrix: two passes over the row, the second from the caches.
extern "C" __global__ void __launch_bounds__(256)
    softmax_passes(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                   unsigned columns) {
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    Part part;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x)
        part = combined(part, {from[start + c], 1});
    part = over_block(over_warp(part));
    const float scale = 1.0F / part.sum;
    for (unsigned c = threadIdx.x; c < columns; c += blockDim.x)
        to[start + c] = __expf(from[start + c] - part.largest) * scale;
}

// The same with 16-byte accesses: columns are a multiple of 4, addresses of 16.
extern "C" __global__ void __launch_bounds__(1024)
    softmax_vec16(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                  unsigned columns) {
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    const auto* const wide_from = reinterpret_cast<const float4*>(from + start);
    const unsigned vectors = columns / 4;
    Part part;
    for (unsigned i = threadIdx.x; i < vectors; i += blockDim.x)
        part = combined(part, part_of(wide_from[i]));
    part = over_block(over_warp(part));
    const float scale = 1.0F / part.sum;
    // Backwards: what was read last is in the caches still.
    const unsigned last = (vectors - 1 - threadIdx.x) / blockDim.x * blockDim.x + threadIdx.x;
    if (threadIdx.x >= vectors) return;
    for (unsigned i = last;; i -= blockDim.x) {
        const float4 v = __ldcs(wide_from + i);
        Streaming::store(
            reinterpret_cast<float4*>(to + start) + i,
            make_float4(__expf(v.x - part.largest) * scale, __expf(v.y - part.largest) * scale,
                        __expf(v.z - part.largest) * scale, __expf(v.w - part.largest) * scale));
        if (i < blockDim.x) break;
    }
}

// A row for each warp, in registers: up to 256 columns, a multiple of 4; addresses are multiples of
// 16. Blocks of one short row each would not be started fast enough.
namespace {
template <unsigned most>
__device__ void softmax_of_warp(const float* __restrict__ from, float* __restrict__ to,
                                unsigned columns) {
    Share<most, EvictFirst> share(from, columns / 4, threadIdx.x % 32, 32);
    share.finish(to, share.over_warp());
}
}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    softmax_warps(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                  unsigned columns) {
    const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    const unsigned long long start = static_cast<unsigned long long>(row) * columns;
    if (columns <= 128)
        softmax_of_warp<1>(from + start, to + start, columns);
    else
        softmax_of_warp<2>(from + start, to + start, columns);
}

// A row for each block, in registers; columns are a multiple of 4, addresses of 16.
namespace {
template <unsigned most, class Access>
__device__ void softmax_of_block(const float* __restrict__ from, float* __restrict__ to,
                                 unsigned columns) {
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    Share<most, Access> share(from + start, columns / 4, threadIdx.x, blockDim.x);
    share.finish(to + start, over_block(share.over_warp()));
}
}  // namespace

// Up to 8 columns for each thread.
extern "C" __global__ void __launch_bounds__(1024, resident_blocks)
    softmax_registers_narrow(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                             unsigned columns) {
    softmax_of_block<2, EvictFirst>(from, to, columns);
}

// Up to 16 columns for each thread.
extern "C" __global__ void __launch_bounds__(1024)
    softmax_registers(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                      unsigned columns) {
    softmax_of_block<4, Streaming>(from, to, columns);
}

// Up to 32 columns for each thread.
extern "C" __global__ void __launch_bounds__(1024)
    softmax_registers_wide(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                           unsigned columns) {
    softmax_of_block<8, EvictFirst>(from, to, columns);
}
