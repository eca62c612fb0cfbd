// IEEE half precision on the host: 16 bits in, float out.
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

/// Random halves of magnitude in [0.25, 1), either sign.
inline std::vector<std::uint16_t> random_halves(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<std::uint16_t> halves(count);
    for (auto& half : halves) {
        const auto bits = static_cast<std::uint32_t>(generator() >> 32);
        const std::uint32_t exponent = 13 + (bits >> 16 & 1U);  // 2^-2 or 2^-1.
        half = static_cast<std::uint16_t>((bits & 0x8000U) | exponent << 10 | (bits & 0x3ffU));
    }
    return halves;
}

}  // namespace lode::kernels
