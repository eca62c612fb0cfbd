// Shared by the rows of the layer normalization: moments of parts of a row, and how they combine
// (Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances", 1979).
#pragma once

namespace {

constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned most_warps = 32;

/// The number of some elements, their mean, and the sum of their squared distances from it.
struct Moments {
    float count;
    float mean;
    float squares;
};

__device__ inline float sum_over_warp(float value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(full_warp, value, offset);
    return value;
}

__device__ inline float sum_of(const float4& v) {
    return v.x + v.y + v.z + v.w;
}

/// The sum of the squared distances from `mean`.
__device__ inline float squares_of(const float4& v, float mean) {
    const float4 d = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
    return fmaf(d.x, d.x, fmaf(d.y, d.y, fmaf(d.z, d.z, d.w * d.w)));
}

/// Both parts together; not for two empty ones.
__device__ inline Moments combined(const Moments& a, const Moments& b) {
    const float count = a.count + b.count;
    const float share = __fdividef(b.count, count);
    const float distance = b.mean - a.mean;
    return {count, fmaf(distance, share, a.mean),
            a.squares + b.squares + distance * distance * a.count * share};
}

/// The whole warp's moments, in every lane.
__device__ inline Moments over_warp(const Moments& part) {
    const float count = sum_over_warp(part.count);
    const float mean = count > 0 ? sum_over_warp(part.count * part.mean) / count : 0.0F;
    const float distance = part.mean - mean;
    return {count, mean, sum_over_warp(fmaf(part.count * distance, distance, part.squares))};
}

/// The whole block's, in every thread, from those of its warps. Once in a kernel.
__device__ inline Moments over_block(const Moments& of_warp) {
    __shared__ Moments of_warps[most_warps];
    const unsigned lane = threadIdx.x % 32;
    if (lane == 0) of_warps[threadIdx.x / 32] = of_warp;
    __syncthreads();
    return over_warp(lane < blockDim.x / 32 ? of_warps[lane] : Moments{0, 0, 0});
}

/// What every element of the row is multiplied by, after the mean is subtracted.
__device__ inline float scale_of(const Moments& row, float epsilon) {
    return rsqrtf(row.squares / row.count + epsilon);
}

/// Accesses with the streaming hints, of what is wanted.
struct Streaming {
    static constexpr bool branches = true;
    __device__ static void load(float4& v, const float4* from, bool wanted) {
        if (wanted) v = __ldcs(from);
    }
    __device__ static void store(float4* to, const float4& v, bool wanted = true) {
        if (wanted) __stcs(to, v);
    }
};

/// Likewise, past the first-level cache; what they access leaves the L2 cache first (8.0). What
/// isn't wanted costs a predicate for each access instead of a branch if `branching` is false.
template <bool branching>
struct EvictFirst {
    static constexpr bool branches = branching;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __device__ static unsigned long long policy() {
        unsigned long long policy = 0;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        return policy;
    }
    __device__ static void load(float4& v, const float4* from, bool wanted) {
        if (branching && !wanted) return;
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %6, 0; @p "
            "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;}"
            : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w)
            : "l"(from), "l"(policy()), "r"(static_cast<unsigned>(branching || wanted)));
    }
    __device__ static void store(float4* to, const float4& v, bool wanted) {
        if (branching && !wanted) return;
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %6, 0; @p "
            "st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;}" ::"l"(
                to),
            "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(policy()),
            "r"(static_cast<unsigned>(branching || wanted))
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

/// Scales or shifts, which all rows read. Those that would take more than their part of the
/// first-level cache stay out of it.
template <bool cached>
__device__ float4 load_again(const float* from, unsigned index) {
    const auto* const wide = reinterpret_cast<const float4*>(from) + index;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (!cached) {
        float4 v;
        asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                     : "l"(wide));
        return v;
    }
#endif
    return __ldg(wide);
}

/// Vector `index` of a row, normalized, if it is wanted.
template <class Access, bool cached = true>
__device__ void store(float* row, unsigned index, const float4& v, float mean, float scale,
                      const float* __restrict__ scales, const float* __restrict__ shifts,
                      bool wanted = true) {
    const float4 a = load_again<cached>(scales, wanted ? index : 0);
    const float4 b = load_again<cached>(shifts, wanted ? index : 0);
    Access::store(
        reinterpret_cast<float4*>(row) + index,
        make_float4(fmaf((v.x - mean) * scale, a.x, b.x), fmaf((v.y - mean) * scale, a.y, b.y),
                    fmaf((v.z - mean) * scale, a.z, b.z), fmaf((v.w - mean) * scale, a.w, b.w)),
        wanted);
}

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
            v_[i] = make_float4(0, 0, 0, 0);
            Access::load(v_[i], reinterpret_cast<const float4*>(row) + at(i), has(i));
        }
    }

    /// The moments of the warp's elements.
    __device__ Moments over_warp() const {
        float sum = 0;
        unsigned count = 0;
#pragma unroll
        for (unsigned i = 0; i < most; ++i) {
            sum += sum_of(v_[i]);
            count += has(i) ? 4 : 0;
        }
        const float of_warp = whole ? 128.0F * most : sum_over_warp(static_cast<float>(count));
        const float mean = of_warp > 0 ? sum_over_warp(sum) / of_warp : 0.0F;
        float squares = 0;
#pragma unroll
        for (unsigned i = 0; i < most; ++i)
            squares += has(i) ? squares_of(v_[i], mean) : 0.0F;
        return {of_warp, mean, sum_over_warp(squares)};
    }

    /// Writes the results. A whole share of more than 4 vectors takes half of the first-level cache
    /// for its scales and shifts.
    __device__ void finish(float* row, const Moments& of_row, float epsilon,
                           const float* __restrict__ scales,
                           const float* __restrict__ shifts) const {
        constexpr unsigned cached = whole && most > 4 ? 4 : most;
        const float scale = scale_of(of_row, epsilon);
#pragma unroll
        for (unsigned i = 0; i < cached; ++i) {
            if (Access::branches && !has(i)) continue;
            store<Access>(row, at(i), v_[i], of_row.mean, scale, scales, shifts, has(i));
        }
#pragma unroll
        for (unsigned i = cached; i < most; ++i)
            store<Access, false>(row, at(i), v_[i], of_row.mean, scale, scales, shifts, has(i));
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
};

}  // namespace
