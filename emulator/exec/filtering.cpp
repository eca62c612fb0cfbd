#include "emulator/exec/filtering.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lode::emulator::exec {
namespace {

constexpr u32 group = 4;  ///< Texels that are aligned together.

/// Rounds to a float, or to a half as a float; halfway cases go away from zero.
f64 rounded_away(f64 value, bool to_half) noexcept {
    constexpr f64 least_normal_half = 0x1p-14;
    if (to_half && std::abs(value) < least_normal_half)
        return std::copysign(std::floor(std::abs(value) * 0x1p24 + 0.5) * 0x1p-24, value);
    const int dropped = to_half ? 42 : 29;  // A double's fraction has 52 bits.
    const u64 bits = std::bit_cast<u64>(value) + (u64{1} << (dropped - 1));
    return std::bit_cast<f64>(bits & ~((u64{1} << dropped) - 1));
}

}  // namespace

std::array<i64, 8> corner_weights(const std::array<AxisPlace, 3>& places, i64 share) noexcept {
    std::array<i64, 8> made{};
    constexpr i64 half = weight_one / 2;
    // The share is split along z, then x, then y, and rounded at each step, so that the sum stays.
    const i64 far = (share * places[2].weight + half) / weight_one;
    const i64 slices[] = {share - far, far};
    for (u32 slice = 0; slice < 2; ++slice) {
        const i64 right = (slices[slice] * places[0].weight + half) / weight_one;
        const i64 sides[] = {slices[slice] - right, right};
        for (u32 side = 0; side < 2; ++side) {
            // On the left side a tie goes to the row before, on the right one to the row after.
            const i64 tie = side == 0 ? half - 1 : half;
            const i64 below = (sides[side] * places[1].weight + tie) / weight_one;
            made[slice * 4 + side] = sides[side] - below;
            made[slice * 4 + side + 2] = below;
        }
    }
    return made;
}

void WeightedTexels::add(i64 weight, const std::array<f64, 4>& texel) noexcept {
    weights_[count_] = weight;
    for (u32 k = 0; k < 4; ++k)
        texels_[k][count_] = texel[k];
    ++count_;
}

i64 WeightedTexels::whole_sum(u32 channel, f64 one) const noexcept {
    i64 sum = 0;
    for (u32 k = 0; k < count_; ++k)
        sum += weights_[k] * static_cast<i64>(std::round(texels_[channel][k] * one));
    return sum;
}

f64 WeightedTexels::aligned_sum(u32 channel, u32 first, int bits) const noexcept {
    const u32 end = std::min(first + group, count_);
    const auto& texels = texels_[channel];
    int largest = std::numeric_limits<int>::min();
    for (u32 k = first; k < end; ++k) {
        if (weights_[k] == 0 || texels[k] == 0) continue;
        int exponent = 0;
        (void)std::frexp(texels[k], &exponent);
        largest = std::max(largest, exponent);
    }
    if (largest == std::numeric_limits<int>::min()) return 0;
    f64 sum = 0;
    for (u32 k = first; k < end; ++k) {
        if (weights_[k] == 0) continue;
        sum += static_cast<f64>(weights_[k]) * std::trunc(std::ldexp(texels[k], bits - largest));
    }
    return std::ldexp(sum, largest - bits) / static_cast<f64>(weight_one);
}

f64 WeightedTexels::mean(Component component, u32 channel) const noexcept {
    constexpr f64 most_unsigned = 65535;
    constexpr f64 most_signed = 32767;
    constexpr f64 most_small = 127;
    switch (component) {
        case Component::uint8:
            return static_cast<f64>((whole_sum(channel, 255) * 257 + 128) >> 8) / most_unsigned;
        case Component::uint16:
            return static_cast<f64>((whole_sum(channel, most_unsigned) + 128) >> 8) / most_unsigned;
        case Component::int8: {
            // To 15 bits, in hardware's way.
            const i64 sum = whole_sum(channel, most_small);
            const i64 scaled = sum + (((sum >> 4) * 257 + 1024) >> 11);
            return std::max(-1.0, static_cast<f64>(scaled) / most_signed);
        }
        case Component::int16:
            return std::max(
                -1.0, static_cast<f64>((whole_sum(channel, most_signed) + 128) >> 8) / most_signed);
        default:
            break;
    }
    f64 plain = 0;
    for (u32 k = 0; k < count_; ++k) {
        if (weights_[k] != 0) plain += static_cast<f64>(weights_[k]) * texels_[channel][k];
    }
    if (!std::isfinite(plain)) return plain;
    const bool is_half = component == Component::half;
    f64 sum = 0;
    for (u32 first = 0; first < count_; first += group)
        sum += aligned_sum(channel, first, is_half ? 15 : 28);
    return rounded_away(sum, is_half);
}

}  // namespace lode::emulator::exec
