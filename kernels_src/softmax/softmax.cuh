// Shared by the rows of the softmax: parts of a row, and how they combine.
#pragma once

namespace {

constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned most_warps = 32;
constexpr float lowest = -3.402823466e38F;

/// The largest of some elements, and the sum of exp(x - largest) over them.
struct Part {
    float largest = lowest;
    float sum = 0;
};

__device__ inline Part combined(Part a, Part b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

__device__ inline float largest_of(const float4& v) {
    return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
}

__device__ inline Part part_of(const float4& v) {
    const float largest = largest_of(v);
    return {largest, __expf(v.x - largest) + __expf(v.y - largest) + __expf(v.z - largest) +
                         __expf(v.w - largest)};
}

__device__ inline float largest_over_warp(float value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(full_warp, value, offset));
    return value;
}

__device__ inline float sum_over_warp(float value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(full_warp, value, offset);
    return value;
}

/// The whole warp's part, in every lane.
__device__ inline Part over_warp(Part part) {
    const float largest = largest_over_warp(part.largest);
    return {largest, sum_over_warp(part.sum * __expf(part.largest - largest))};
}

/// The whole block's part, in every thread, from those of its warps. Once in a kernel.
__device__ inline Part over_block(Part of_warp) {
    __shared__ Part of_warps[most_warps];
    const unsigned lane = threadIdx.x % 32;
    if (lane == 0) of_warps[threadIdx.x / 32] = of_warp;
    __syncthreads();
    return over_warp(lane < blockDim.x / 32 ? of_warps[lane] : Part());
}

/// Accesses with the streaming hints.
struct Streaming {
    __device__ static float4 load(const float4* from) { return __ldcs(from); }
    __device__ static void store(float4* to, const float4& v) { __stcs(to, v); }
};

/// Accesses past the first-level cache that leave the L2 cache first (8.0).
struct EvictFirst {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __device__ static unsigned long long policy() {
        unsigned long long policy = 0;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        return policy;
    }
    __device__ static float4 load(const float4* from) {
        float4 v;
        asm volatile(
            "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
            : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
            : "l"(from), "l"(policy()));
        return v;
    }
    __device__ static void store(float4* to, const float4& v) {
        asm volatile(
            "st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to),
            "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(policy())
            : "memory");
    }
#else
    __device__ static float4 load(const float4* from) {
        return __ldcs(from);
    }
    __device__ static void store(float4* to, const float4& v) {
        __stcs(to, v);
    }
#endif
};

/// A thread's share of a row, in registers: every `threads`-th vector from `first` on, at most
/// `most` of them. The row is read once and written once.
template <unsigned most, class Access>
class Share {
public:
    __device__ Share(const float* row, unsigned vectors, unsigned first, unsigned threads)
        : vectors_(vectors), first_(first), threads_(threads) {
        const auto* const wide = reinterpret_cast<const float4*>(row);
#pragma unroll
        for (unsigned i = 0; i < most; ++i) {
            const unsigned at = first + i * threads;
            v_[i] = at < vectors ? Access::load(wide + at)
                                 : make_float4(lowest, lowest, lowest, lowest);
        }
    }

    /// The warp's part. The share then holds exp(x - largest of the warp).
    __device__ Part over_warp() {
        float largest = lowest;
#pragma unroll
        for (unsigned i = 0; i < most; ++i)
            largest = fmaxf(largest, largest_of(v_[i]));
        largest_ = largest_over_warp(largest);
        float sum = 0;
#pragma unroll
        for (unsigned i = 0; i < most; ++i) {
            if (first_ + i * threads_ >= vectors_) continue;
            v_[i] = make_float4(__expf(v_[i].x - largest_), __expf(v_[i].y - largest_),
                                __expf(v_[i].z - largest_), __expf(v_[i].w - largest_));
            sum += v_[i].x + v_[i].y + v_[i].z + v_[i].w;
        }
        return {largest_, sum_over_warp(sum)};
    }

    /// Writes the results, given the whole row's part.
    __device__ void finish(float* row, const Part& of_row) const {
        const float scale = __expf(largest_ - of_row.largest) / of_row.sum;
#pragma unroll
        for (unsigned i = 0; i < most; ++i) {
            const unsigned at = first_ + i * threads_;
            if (at < vectors_)
                Access::store(reinterpret_cast<float4*>(row) + at,
                              make_float4(v_[i].x * scale, v_[i].y * scale, v_[i].z * scale,
                                          v_[i].w * scale));
        }
    }

private:
    unsigned vectors_;
    unsigned first_;
    unsigned threads_;
    float4 v_[most];
    float largest_ = lowest;
};

}  // namespace
