// Softmax of each row of a matrix: exp(x - max) / sum of exp(x - max).
namespace {

constexpr unsigned threads = 256;
constexpr unsigned warps = threads / 32;
constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned vectors_per_lane = 8;  // 16 bytes each, kept in registers.
constexpr float lowest = -3.402823466e38F;

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/// Combines the values of a warp; every lane gets the result.
template <class Combine>
__device__ float over_warp(float value, Combine combine) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(full_warp, value, offset));
    return value;
}

/// The same for the block; `scratch` holds one float per warp.
template <class Combine>
__device__ float over_block(float value, float* scratch, Combine combine) {
    value = over_warp(value, combine);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    float result = scratch[0];
#pragma unroll
    for (unsigned w = 1; w < warps; ++w)
        result = combine(result, scratch[w]);
    return result;
}

/// One row held in registers by `lanes` threads: one read, one write.
template <unsigned lanes, class OverMax, class OverSum>
__device__ void softmax_in_registers(const float* __restrict__ from, float* __restrict__ to,
                                     unsigned columns, unsigned lane, OverMax over_max,
                                     OverSum over_sum) {
    const auto* const wide_from = reinterpret_cast<const float4*>(from);
    auto* const wide_to = reinterpret_cast<float4*>(to);
    const unsigned vectors = columns / 4;
    float4 v[vectors_per_lane];
    float largest = lowest;
#pragma unroll
    for (unsigned i = 0; i < vectors_per_lane; ++i) {
        const unsigned at = i * lanes + lane;
        v[i] = at < vectors ? wide_from[at] : make_float4(lowest, lowest, lowest, lowest);
    }
#pragma unroll
    for (unsigned i = 0; i < vectors_per_lane; ++i)
        largest = fmaxf(fmaxf(fmaxf(largest, v[i].x), fmaxf(v[i].y, v[i].z)), v[i].w);
    largest = over_max(largest);
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < vectors_per_lane; ++i) {
        if (i * lanes + lane >= vectors) continue;
        v[i] = make_float4(__expf(v[i].x - largest), __expf(v[i].y - largest),
                           __expf(v[i].z - largest), __expf(v[i].w - largest));
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    const float scale = 1.0F / over_sum(sum);
#pragma unroll
    for (unsigned i = 0; i < vectors_per_lane; ++i) {
        const unsigned at = i * lanes + lane;
        if (at < vectors)
            wide_to[at] =
                make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
    }
}

}  // namespace

// Any matrix: three passes over the row, the second and third from the caches.
extern "C" __global__ void __launch_bounds__(threads)
    softmax_passes(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                   unsigned columns) {
    __shared__ float scratch[warps];
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    float largest = lowest;
    for (unsigned c = threadIdx.x; c < columns; c += threads)
        largest = fmaxf(largest, from[start + c]);
    largest = over_block(largest, scratch, Larger{});
    float sum = 0;
    for (unsigned c = threadIdx.x; c < columns; c += threads)
        sum += __expf(from[start + c] - largest);
    const float scale = 1.0F / over_block(sum, scratch, Sum{});
    for (unsigned c = threadIdx.x; c < columns; c += threads)
        to[start + c] = __expf(from[start + c] - largest) * scale;
}

// A warp per row, for up to 1024 columns, a multiple of 4; addresses are multiples of 16.
extern "C" __global__ void __launch_bounds__(threads)
    softmax_warp(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                 unsigned columns) {
    const unsigned row = blockIdx.x * warps + threadIdx.x / 32;
    if (row >= rows) return;
    const unsigned long long start = static_cast<unsigned long long>(row) * columns;
    softmax_in_registers<32>(
        from + start, to + start, columns, threadIdx.x % 32,
        [](float value) { return over_warp(value, Larger{}); },
        [](float value) { return over_warp(value, Sum{}); });
}

// A block per row, for up to 8192 columns, a multiple of 4; addresses are multiples of 16.
extern "C" __global__ void __launch_bounds__(threads)
    softmax_registers(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                      unsigned columns) {
    __shared__ float scratch[warps];
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * columns;
    softmax_in_registers<threads>(
        from + start, to + start, columns, threadIdx.x,
        [&](float value) { return over_block(value, scratch, Larger{}); },
        [&](float value) { return over_block(value, scratch, Sum{}); });
}
