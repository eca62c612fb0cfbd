// Scalar floating-point functions for the op tables. They are defined for all inputs, and free of
// branches where that helps the vectoriser.
#pragma once

#include "emulator/isa/op.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace lode::emulator::exec {

inline u32 bits_of(f32 a) noexcept {
    return std::bit_cast<u32>(a);
}
inline u64 bits_of(f64 a) noexcept {
    return std::bit_cast<u64>(a);
}
inline f32 real32(u32 a) noexcept {
    return std::bit_cast<f32>(a);
}
inline f64 real64(u64 a) noexcept {
    return std::bit_cast<f64>(a);
}

/// Flushes denormals to zero, preserving the sign.
inline f32 flushed(f32 a) noexcept {
    const u32 bits = bits_of(a);
    return real32((bits & 0x7f80'0000) == 0 ? bits & 0x8000'0000 : bits);
}

// .ftz flushes a result whose value, rounded to 24 bits with an unbounded exponent, is below the
// least normal number. f32 rounds such a value to fewer bits, possibly up to the least normal
// number; only in that case is the result recomputed, scaled by 2^64.
inline constexpr f32 least_normal = std::numeric_limits<f32>::min();
inline constexpr f32 magnifier = 0x1p64f;

inline bool may_be_tiny(f32 result) noexcept {
    return (bits_of(result) & 0x7fff'ffff) == bits_of(least_normal);
}
/// Applies .ftz to a result of ±least_normal.
inline f32 flushed_tiny(f32 result, f32 magnified) noexcept {
    return std::fabs(magnified) < least_normal * magnifier ? result * 0 : result;
}
/// magnifier * (a * b + e), rounded once; finite if a * b + e is that small.
inline f32 magnified_fma(f32 a, f32 b, f32 e) noexcept {
    const bool first = std::fabs(a) < std::fabs(b);
    return __builtin_fmaf(first ? a * magnifier : a, first ? b : b * magnifier, e * magnifier);
}

/// Replaces every NaN by the device's canonical 32-bit NaN: arithmetic doesn't propagate payloads.
inline f32 canonical(f32 a) noexcept {
    return std::isnan(a) ? real32(0x7fff'ffff) : a;
}
inline f64 canonical(f64 a) noexcept {
    return a;
}

/// Clamps to 0 … 1; NaN becomes 0.
template <class T>
T saturated(T a) noexcept {
    return a >= T{1} ? T{1} : (a > T{0} ? a : T{0});
}

/// PTX min and max: a number takes precedence over NaN, and -0 is less than +0.
template <class T>
T least(T a, T b) noexcept {
    const T low = a < b ? a : b;
    const T tie = std::signbit(a) ? a : b;
    const T number = a == b ? tie : low;
    return canonical(std::isnan(a) ? b : (std::isnan(b) ? a : number));
}
template <class T>
T greatest(T a, T b) noexcept {
    const T high = a > b ? a : b;
    const T tie = std::signbit(a) ? b : a;
    const T number = a == b ? tie : high;
    return canonical(std::isnan(a) ? b : (std::isnan(b) ? a : number));
}
/// min.NaN and max.NaN: NaN takes precedence over a number.
template <class T>
T least_or_nan(T a, T b) noexcept {
    return std::isnan(a) || std::isnan(b) ? canonical(std::numeric_limits<T>::quiet_NaN())
                                          : least(a, b);
}
template <class T>
T greatest_or_nan(T a, T b) noexcept {
    return std::isnan(a) || std::isnan(b) ? canonical(std::numeric_limits<T>::quiet_NaN())
                                          : greatest(a, b);
}
/// .xorsign.abs: the magnitude, with the sign of the product.
template <class T>
T with_product_sign(T magnitude, T a, T b) noexcept {
    return std::copysign(magnitude, std::signbit(a) != std::signbit(b) ? T{-1} : T{1});
}

enum Round : u16 { nearest = 0, zero = 1, down = 2, up = 3 };

/// Flags of arithmetic with reals and of their conversions.
struct RealFlags {
    Round round : 2 = nearest;
    bool flush : 1 = false;
    bool saturate : 1 = false;
    bool relu : 1 = false;
    bool outside : 1 = false;       ///< fma.oob
    bool keeps_nan : 1 = false;     ///< min.NaN and max.NaN
    bool product_sign : 1 = false;  ///< min.xorsign.abs and max.xorsign.abs
    bool finite : 1 = false;        ///< .satfinite
    bool ties_to_away : 1 = false;  ///< .rna
    u16 unused : 6 = 0;

    bool operator==(const RealFlags&) const = default;
};

/// The formats of four numbers in 32 bits; .e2m1x4 has 16.
enum class NarrowFormat : u16 { e4m3, e5m2, e3m2, e2m3, e2m1, e2m1_in_bytes, ue8m0 };

/// Flags of arithmetic with four numbers at a time.
struct NarrowFlags {
    NarrowFormat result : 3 = NarrowFormat::e4m3;
    NarrowFormat a : 3 = NarrowFormat::e4m3;
    NarrowFormat b : 3 = NarrowFormat::e4m3;
    bool finite : 1 = false;  ///< .satfinite
    u16 unused : 6 = 0;
};

/// One number of spdecompress, and the places of a register that it may take.
struct SpreadFlags {
    u16 from : 2 = 0;   ///< Which of the numbers in the register.
    u16 field : 4 = 0;  ///< Which of the register's fields has its place.
    bool has_wide_fields : 1 = false;
    bool is_wide : 1 = false;   ///< 16 bits, not 8.
    u16 first : 4 = 0;          ///< The place that is first in the register's part.
    u16 at : 2 = 0;             ///< Which of the register's numbers that is.
    bool has_four : 1 = false;  ///< The part has 4 places, not 2.
    u16 unused : 1 = 0;
};

/// What testp asks.
enum class RealProperty : u16 { finite, infinite, number, not_a_number, normal, subnormal };

}  // namespace lode::emulator::exec
