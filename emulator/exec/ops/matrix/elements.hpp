// The elements of matrices as numbers: integers, or significands and exponents.
#pragma once

#include "emulator/isa/tensor.hpp"

#include <bit>
#include <limits>

namespace lode::emulator::exec {

/// The exponent of zero: products with it are never the largest, and their sum with any other
/// exponent is far below every exponent that matters.
inline constexpr i32 zero_exponent = -2000;
/// The exponent of an element that a sparse matrix lacks.
inline constexpr i32 absent_exponent = -4000;
/// The exponent of a summand that is zero, which does count.
inline constexpr i32 zero_summand_exponent = -126;

/// The layout of a floating-point format in the low bits of a u32.
struct NumberFormat {
    u32 exponent_bits, fraction_bits;
    i32 bias;
    u32 shift;          ///< Bits to the right of the number.
    bool has_infinity;  ///< The largest exponent is for infinities and NaNs.
    bool has_nan;       ///< All ones are a NaN.
};
inline constexpr NumberFormat f16_number{5, 10, 15, 0, true, true};
inline constexpr NumberFormat bf16_number{8, 7, 127, 0, true, true};
inline constexpr NumberFormat tf32_number{8, 10, 127, 13, true, true};
inline constexpr NumberFormat f32_number{8, 23, 127, 0, true, true};
inline constexpr NumberFormat e4m3_number{4, 3, 7, 0, false, true};
inline constexpr NumberFormat e5m2_number{5, 2, 15, 0, true, true};
inline constexpr NumberFormat e2m3_number{2, 3, 1, 0, false, false};
inline constexpr NumberFormat e3m2_number{3, 2, 3, 0, false, false};
inline constexpr NumberFormat e2m1_number{2, 1, 1, 2, false, false};
inline constexpr NumberFormat e2m1_x2_number{2, 1, 1, 0, false, false};

/// Splits `count` numbers into significands, less than 2 and of any sign, and exponents. Infinities
/// and NaNs become themselves; returns whether there are any.
template <NumberFormat format>
bool split(const u32* raw, std::size_t count, i32 zero, f32* significands,
           i32* exponents) noexcept {
    constexpr u32 fraction_mask = (1u << format.fraction_bits) - 1;
    constexpr u32 exponent_mask = (1u << format.exponent_bits) - 1;
    constexpr u32 sign_bit = format.exponent_bits + format.fraction_bits;
    u32 special = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const u32 bits = raw[i] >> format.shift;
        const u32 fraction = bits & fraction_mask;
        const u32 exponent = (bits >> format.fraction_bits) & exponent_mask;
        const u32 whole = fraction | (exponent != 0 ? 1u << format.fraction_bits : 0);
        const f32 magnitude =
            static_cast<f32>(static_cast<i32>(whole)) * (1.0f / (1u << format.fraction_bits));
        const u32 sign = ((bits >> sign_bit) & 1) << 31;
        significands[i] = std::bit_cast<f32>(std::bit_cast<u32>(magnitude) | sign);
        const i32 scale = static_cast<i32>(exponent != 0 ? exponent : 1) - format.bias;
        exponents[i] = whole != 0 ? scale : zero;
        const u32 last =
            format.has_infinity ? exponent_mask << format.fraction_bits : (1u << sign_bit) - 1;
        if constexpr (format.has_infinity || format.has_nan)
            special |= static_cast<u32>((bits & last) == last);
    }
    if (special == 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
        const u32 bits = raw[i] >> format.shift;
        const u32 fraction = bits & fraction_mask;
        const u32 exponent = (bits >> format.fraction_bits) & exponent_mask;
        if (exponent != exponent_mask) continue;
        const f32 sign = ((bits >> sign_bit) & 1) != 0 ? -1.0f : 1.0f;
        if (format.has_infinity) {
            significands[i] = fraction == 0 ? sign * std::numeric_limits<f32>::infinity()
                                            : std::numeric_limits<f32>::quiet_NaN();
        } else if (fraction == fraction_mask) {
            significands[i] = std::numeric_limits<f32>::quiet_NaN();
        }
    }
    return true;
}

/// split() for a type of elements.
bool split_elements(Element element, const u32* raw, std::size_t count, i32 zero, f32* significands,
                    i32* exponents) noexcept;
/// The values of integers.
void widen_integers(Element element, const u32* raw, std::size_t count, i32* values) noexcept;

}  // namespace lode::emulator::exec
