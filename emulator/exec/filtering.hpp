// The arithmetic of linear filtering, bit by bit as on an H200 (docs/dev/emulator.md, "Textures and
// surfaces").
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/images.hpp"

#include <array>

namespace lode::emulator::exec {

/// Weights are multiples of 1/256.
inline constexpr i64 weight_one = 256;

/// Where one coordinate falls on an axis: the texels on both sides, -1 for the border, and the
/// weight of the second one.
struct AxisPlace {
    i64 before = 0;
    i64 after = 0;
    i64 weight = 0;
};

/// The weights of 8 texels, or of 4 where the third place has none, whose sum is `share`: bit n of
/// an index says which side of axis n.
[[nodiscard]] std::array<i64, 8> corner_weights(const std::array<AxisPlace, 3>& places,
                                                i64 share) noexcept;

/// The texels of one fetch, with their weights.
class WeightedTexels {
public:
    void add(i64 weight, const std::array<f64, 4>& texel) noexcept;
    /// The weighted mean of one channel. Integers become fractions of 16 bits; floats and halves
    /// are aligned to the largest of four texels and truncated before they are added.
    [[nodiscard]] f64 mean(Component component, u32 channel) const noexcept;

private:
    /// The sum of weights and whole numbers that `one` stands for 1 in.
    [[nodiscard]] i64 whole_sum(u32 channel, f64 one) const noexcept;
    [[nodiscard]] f64 aligned_sum(u32 channel, u32 first, int bits) const noexcept;

    static constexpr u32 most = 16;  ///< Two levels of a volume need as many.
    std::array<std::array<f64, most>, 4> texels_{};
    std::array<i64, most> weights_{};
    u32 count_ = 0;
};

}  // namespace lode::emulator::exec
