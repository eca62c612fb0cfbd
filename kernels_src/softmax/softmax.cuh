// Shared by the rows of the softmax: parts of a row, and how they combine.
#pragma once

namespace {

constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned most_warps = 32;
constexpr float lowest = -3.402823466e38F;

/// How many blocks of 1,024 threads a multiprocessor holds.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
                               __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030)
constexpr unsigned resident_blocks = 2;
#else
constexpr unsigned resident_blocks = 1;
#endif

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

/// Accesses with the streaming hints. One that isn't wanted does nothing, without a branch: with
/// branches between its loads, clusters are slower.
struct Streaming {
    __device__ static void load(float4& v, const float4* from, bool wanted) {
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];}"
            : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w)
            : "l"(from), "r"(static_cast<unsigned>(wanted)));
    }
    __device__ static void store(float4* to, const float4& v, bool wanted = true) {
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %5, 0; @p st.global.cs.v4.f32 [%0], {%1, %2, %3, "
            "%4};}" ::"l"(to),
            "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(static_cast<unsigned>(wanted))
            : "memory");
    }
};

/// Likewise, past the first-level cache; what they access leaves the L2 cache first (8.0).
struct EvictFirst {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __device__ static unsigned long long policy() {
        unsigned long long policy = 0;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        return policy;
    }
    __device__ static void load(float4& v, const float4* from, bool wanted) {
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %6, 0; @p "
            "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;}"
            : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w)
            : "l"(from), "l"(policy()), "r"(static_cast<unsigned>(wanted)));
    }
    __device__ static void store(float4* to, const float4& v, bool wanted) {
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %6, 0; @p "
            "st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;}" ::"l"(
                to),
            "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(policy()),
            "r"(static_cast<unsigned>(wanted))
            : "memory");
    }
#else
    __device__ static void load(float4& v, const float4* from, bool wanted) {
        Streaming::load(v, from, wanted);
    }
    __device__ static void store(float4* to, const float4& v, bool wanted) {
        Streaming::store(to, v, wanted);
    }
#endif
};

/// A thread's share of a row, in registers: every `threads`-th vector from `first` on, at most
/// `most` of them. The row is read once and written once. `fixed` is the number of threads or 0; if
/// `whole`, each has `most` vectors.
template <unsigned most, class Access, unsigned fixed = 0, bool whole = false>
class Share {
public:
    __device__ Share(const float* row, unsigned vectors, unsigned first, unsigned threads)
        : vectors_(vectors), first_(first), threads_(threads) {
#pragma unroll
        for (unsigned i = 0; i < most; ++i) {
            v_[i] = make_float4(lowest, lowest, lowest, lowest);
            Access::load(v_[i], reinterpret_cast<const float4*>(row) + at(i), has(i));
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
            v_[i] = make_float4(__expf(v_[i].x - largest_), __expf(v_[i].y - largest_),
                                __expf(v_[i].z - largest_), __expf(v_[i].w - largest_));
            const float of_vector = v_[i].x + v_[i].y + v_[i].z + v_[i].w;
            sum += has(i) ? of_vector : 0.0F;
        }
        return {largest_, sum_over_warp(sum)};
    }

    /// Writes the results, given the whole row's part.
    __device__ void finish(float* row, const Part& of_row) const {
        const float scale = __expf(largest_ - of_row.largest) / of_row.sum;
#pragma unroll
        for (unsigned i = 0; i < most; ++i)
            Access::store(
                reinterpret_cast<float4*>(row) + at(i),
                make_float4(v_[i].x * scale, v_[i].y * scale, v_[i].z * scale, v_[i].w * scale),
                has(i));
    }

private:
    __device__ unsigned at(unsigned i) const {
        return first_ + i * (fixed != 0 ? fixed : threads_);
    }
    __device__ bool has(unsigned i) const {
        return whole || at(i) < vectors_;
    }

    unsigned vectors_;
    unsigned first_;
    unsigned threads_;
    float4 v_[most];
    float largest_ = lowest;
};

}  // namespace
