// Shared by all rows of the matrix product: C = epilogue(scale · A · Bᵀ) with single-precision
// sums, where A has m rows of k, B n rows of k and C m rows of n, all row-major. Elements are
// passed as integers, so no header is needed.
//
//     LODE_GEMM_BF16           halves are bfloat16, else IEEE half precision (f16)
//     LODE_GEMM_FP8            elements of A and B are e4m3, and C is bfloat16
//     LODE_GEMM_A_M_MAJOR      A is stored as k rows of m
//     LODE_GEMM_B_N_MAJOR      B is stored as k rows of n
//     LODE_GEMM_EPILOGUE       an expression of x (the scaled sum), row, column and operand (a
//                              pointer to floats that the caller passes), for example
//                              relu(x + operand[column])
//
// LODE_HALF is the type of halves in PTX instructions.
#pragma once

#ifdef LODE_GEMM_FP8
#define LODE_GEMM_BF16
#endif

#ifdef LODE_GEMM_BF16
#define LODE_HALF "bf16"
#else
#define LODE_HALF "f16"
#endif

namespace {

using half_bits = unsigned short;

#ifdef LODE_GEMM_FP8
using element_bits = unsigned char;  // Elements of A and B.
#else
using element_bits = half_bits;
#endif
constexpr unsigned element_bytes = sizeof(element_bits);
#ifdef LODE_GEMM_A_M_MAJOR
constexpr bool a_m_major = true;
#else
constexpr bool a_m_major = false;
#endif
#ifdef LODE_GEMM_B_N_MAJOR
constexpr bool b_n_major = true;
#else
constexpr bool b_n_major = false;
#endif

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

#ifdef LODE_GEMM_FP8

/// The exact value of an e4m3: as the upper bits of a float it has the wrong bias alone.
__device__ inline float to_float(element_bits e) {
    const float magnitude = __uint_as_float((e & 0x7fU) << 20) * 0x1p+120F;
    if ((e & 0x7fU) == 0x7fU) return __uint_as_float(0x7fc00000U);
    return (e & 0x80U) != 0 ? -magnitude : magnitude;
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

// Functions for LODE_GEMM_EPILOGUE.
__device__ inline float relu(float x) {
    return fmaxf(x, 0.0F);
}
__device__ inline float sigmoid(float x) {
    return __fdividef(1.0F, 1.0F + __expf(-x));
}
__device__ inline float silu(float x) {
    return x * sigmoid(x);
}
/// The approximation by tanh: x · sigmoid(2 · sqrt(2 / pi) · (x + 0.044715 · x³)).
__device__ inline float gelu(float x) {
    return x * sigmoid(1.5957691216F * (x + 0.044715F * x * x * x));
}

/// Turns sums into elements of C.
struct Epilogue {
    float scale;
    const float* operand;
    unsigned m;
    unsigned n;

    [[nodiscard]] __device__ float of(float sum, unsigned row, unsigned column) const {
        float x = sum * scale;
#ifdef LODE_GEMM_EPILOGUE
        // Places outside of C are computed too, and never stored.
        row = min(row, m - 1);
        column = min(column, n - 1);
        x = LODE_GEMM_EPILOGUE;
#endif
        return x;
    }
    /// Two neighbours in a row.
    [[nodiscard]] __device__ unsigned pair(float low, float high, unsigned row,
                                           unsigned column) const {
        return to_half2(of(low, row, column), of(high, row, column + 1));
    }
};

/// The place of tile `index`. Tiles are ordered in groups of tile rows, so that concurrent tiles
/// share rows of A and of B in the L2 cache.
template <unsigned group = 8>
__device__ inline TilePlace place_of(unsigned index, unsigned tiles_m, unsigned tiles_n) {
    const unsigned per_group = group * tiles_n;
    const unsigned first = index / per_group * group;
    const unsigned rows = min(group, tiles_m - first);
    const unsigned within = index % per_group;
    return {first + within % rows, within / rows};
}

}  // namespace
