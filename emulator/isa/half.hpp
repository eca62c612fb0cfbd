// f16, bf16, fp8 and similar formats as bits: conversions that round once.
#pragma once

#include "emulator/isa/real.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace lode::emulator::exec {

inline f32 bfloat_to_real(u16 a) noexcept {
    return real32(u32{a} << 16);
}

/// The compiler's own type; no name of it is known to every compiler for every processor.
#if defined(__clang__) || defined(__aarch64__)
using NativeHalf = __fp16;
#else
using NativeHalf = _Float16;
#endif

inline f32 half_to_real(u16 a) noexcept {
#if defined(__F16C__)
    return _cvtsh_ss(a);  // GCC 12 makes slower loops of the native type.
#else
    return __builtin_bit_cast(NativeHalf, a);
#endif
}

inline void eight_halves_to_reals(const void* halves, void* reals) noexcept {
#if defined(__F16C__)
    _mm256_storeu_ps(static_cast<f32*>(reals),
                     _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(halves))));
#else
    for (int i = 0; i < 8; ++i)
        static_cast<f32*>(reals)[i] = static_cast<const NativeHalf*>(halves)[i];
#endif
}

/// Flushes denormals to zero, preserving the sign.
inline u16 flushed_half(u16 a) noexcept {
    return (a & 0x7c00) == 0 ? a & 0x8000 : a;
}

/// A format with `exponent_bits` and `fraction_bits`, in the low bits of a u32.
struct Format {
    int exponent_bits;
    int fraction_bits;
    u32 nan;       ///< The canonical NaN, without sign.
    u32 infinity;  ///< The result of overflow, without sign: infinity, or the largest number.
    u32 largest;   ///< The largest finite number.
};
inline constexpr Format half_format{5, 10, 0x7fff, 0x7c00, 0x7bff};
inline constexpr Format bfloat_format{8, 7, 0x7fff, 0x7f80, 0x7f7f};
inline constexpr Format tf32_format{8, 10, 0x3ffff, 0x3fc00, 0x3fbff};
inline constexpr Format e4m3_format{4, 3, 0x7f, 0x7e, 0x7e};
inline constexpr Format e5m2_format{5, 2, 0x7f, 0x7c, 0x7b};
inline constexpr Format e2m3_format{2, 3, 0x1f, 0x1f, 0x1f};
inline constexpr Format e3m2_format{3, 2, 0x1f, 0x1f, 0x1f};
inline constexpr Format e2m1_format{2, 1, 0x7, 0x7, 0x7};

/// Converts `a` to the given format, rounding the double only once. With `finite`, overflow and
/// infinities become the largest finite number.
u32 narrowed(f64 a, const Format& format, u32 rounding, bool finite) noexcept;
/// The value of a number in one of the formats with at most 8 bits.
f32 widened(u32 a, const Format& format) noexcept;

/// a * b + c in double precision, rounded to odd, so that rounding it again to a narrower format is
/// correct.
f64 fma_to_odd(f64 a, f64 b, f64 c) noexcept;

inline u16 real_to_half(f32 a) noexcept {
    return a == a ? __builtin_bit_cast(u16, static_cast<NativeHalf>(a)) : u16{0x7fff};
}

inline u16 real_to_bfloat(f32 a) noexcept {
    const u32 bits = bits_of(a);
    const u32 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return static_cast<u16>(a == a ? rounded : 0x7fff);
}

}  // namespace lode::emulator::exec
