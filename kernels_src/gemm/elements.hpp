// Elements of the matrix product on the host: IEEE half precision, bfloat16 and e4m3, as integers.
#pragma once

#include <lode/runtime/tensor_layout.hpp>

#include <bit>
#include <cstdint>
#include <limits>

namespace LODE_NAMESPACE::kernels {

/// The exact value of a half.
inline float half_to_float(std::uint16_t half) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1fU;
    const std::uint32_t fraction = half & 0x3ffU;
    if (exponent == 0) {  // Zero and the subnormal numbers: fraction · 2^-24.
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    constexpr std::uint32_t bias_difference = 127 - 15;
    constexpr std::uint32_t special = 0x1f;  // Infinities and NaNs.
    const std::uint32_t wide = exponent == special ? 0xffU : exponent + bias_difference;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// The exact value of a bfloat16: the upper half of a float.
inline float bfloat16_to_float(std::uint16_t bfloat16) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat16) << 16);
}

/// The exact value of an e4m3, which has no infinities and one NaN of either sign.
inline float e4m3_to_float(std::uint16_t e4m3) noexcept {
    const std::uint32_t bits = e4m3 & 0x7fU;
    if (bits == 0x7f) return std::numeric_limits<float>::quiet_NaN();
    const float magnitude = std::bit_cast<float>(bits << 20) * 0x1p+120F;
    return (e4m3 & 0x80U) != 0 ? -magnitude : magnitude;
}

/// Properties of a format of 8 or 16 bits.
struct ElementFormat {
    float (*to_float)(std::uint16_t bits) noexcept;
    unsigned bytes;
    unsigned fraction_bits;
    std::uint16_t quarter;  ///< The bits of 0.25, the smallest of the random magnitudes.
    std::uint16_t not_a_number;
    double rounding;  ///< Half a unit in the last place, relative, rounded up to a power of two.
    TensorType type;  ///< For TMA.
};

inline constexpr ElementFormat float16{half_to_float,  2, 10, 13 << 10, 0x7e00, 0x1p-11,
                                       TensorType::f16};
inline constexpr ElementFormat bfloat16{bfloat16_to_float, 2, 7, 125 << 7, 0x7fc0, 0x1p-8,
                                        TensorType::bf16};
inline constexpr ElementFormat float8{e4m3_to_float, 1, 3, 5 << 3, 0x7f, 0x1p-4, TensorType::u8};

}  // namespace LODE_NAMESPACE::kernels
