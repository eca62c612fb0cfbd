// Halves of the matrix product on the host: IEEE half precision and bfloat16, as 16-bit integers.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace lode::kernels {

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

/// Properties of a 16-bit format.
struct HalfFormat {
    float (*to_float)(std::uint16_t bits) noexcept;
    int fraction_bits;
    std::uint16_t quarter;  ///< The bits of 0.25, the smallest of the random magnitudes.
    std::uint16_t not_a_number;
    double rounding;  ///< Half a unit in the last place, relative, rounded up to a power of two.
};

inline constexpr HalfFormat float16{half_to_float, 10, 13 << 10, 0x7e00, 0x1p-11};
inline constexpr HalfFormat bfloat16{bfloat16_to_float, 7, 125 << 7, 0x7fc0, 0x1p-8};

/// Random halves of magnitude in [0.25, 1), either sign.
inline std::vector<std::uint16_t> random_halves(const HalfFormat& format, std::size_t count,
                                                std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<std::uint16_t> halves(count);
    // Two binades from 0.25 on: the lowest bit of the exponent and the fraction are random.
    const std::uint32_t span = 2U << format.fraction_bits;
    for (auto& half : halves) {
        const auto bits = static_cast<std::uint32_t>(generator() >> 32);
        half = static_cast<std::uint16_t>((bits & 0x8000U) |
                                          (format.quarter + (bits >> 16 & (span - 1))));
    }
    return halves;
}

}  // namespace lode::kernels
