// Shared by the families whose kernels work on rows of a matrix: sums over a warp, and ways to access
// what is read once and written once.
#pragma once

namespace {

constexpr unsigned full_warp = 0xffffffffU;
constexpr unsigned most_warps = 32;

__device__ inline float sum_over_warp(float value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(full_warp, value, offset);
    return value;
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

}  // namespace
