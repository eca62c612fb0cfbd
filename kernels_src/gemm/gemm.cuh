// Shared by all rows of the matrix product: C = A · Bᵀ in halves with single-precision sums, where
// A has m rows of k, B n rows of k and C m rows of n, all row-major. Halves are passed as 16-bit
// integers, so no header is needed.
//
// Halves are IEEE half precision (f16), or bfloat16 if LODE_GEMM_BF16 is defined. LODE_HALF is
// their type in PTX instructions.
#pragma once

#ifdef LODE_GEMM_BF16
#define LODE_HALF "bf16"
#else
#define LODE_HALF "f16"
#endif

namespace {

using half_bits = unsigned short;

#ifdef LODE_GEMM_BF16

__device__ inline float to_float(half_bits h) {
    return __uint_as_float(static_cast<unsigned>(h) << 16);
}

/// Rounds to nearest, ties to even, without the conversion instruction of 8.0 and newer.
__device__ inline half_bits to_half(float f) {
    const unsigned bits = __float_as_uint(f);
    if (f != f) return 0x7fff;
    return static_cast<half_bits>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

#else

__device__ inline float to_float(half_bits h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ inline half_bits to_half(float f) {
    half_bits h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

#endif

/// Two halves in one word, `low` at the lower address.
__device__ inline unsigned to_half2(float low, float high) {
#if !defined(LODE_GEMM_BF16) || __CUDA_ARCH__ >= 800
    unsigned packed;
    asm("cvt.rn." LODE_HALF "x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
#else
    return to_half(low) | static_cast<unsigned>(to_half(high)) << 16;
#endif
}

__device__ inline unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

struct TilePlace {
    unsigned m;
    unsigned n;
};

/// The place of tile `index`. Tiles are ordered in groups of 8 tile rows, so that concurrent tiles
/// share rows of A and of B in the L2 cache.
__device__ inline TilePlace place_of(unsigned index, unsigned tiles_m, unsigned tiles_n) {
    constexpr unsigned group = 8;
    const unsigned per_group = group * tiles_n;
    const unsigned first = index / per_group * group;
    const unsigned rows = min(group, tiles_m - first);
    const unsigned within = index % per_group;
    return {first + within % rows, within / rows};
}

}  // namespace
