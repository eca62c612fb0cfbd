// Sampling: what a texture fetch returns for one set of coordinates.
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/images.hpp"

#include <array>

namespace lode::emulator::exec {

/// The components of a texel: bits of floats, or integers extended to 32 bits.
using Texel = std::array<u32, 4>;

/// One lane's request.
struct Fetch {
    std::array<f32, 3> at{};     ///< x, y, z.
    std::array<i32, 3> whole{};  ///< Instead of `at`, if `is_whole`.
    bool is_whole = false;       ///< The coordinates are texel numbers.
    u32 layer = 0;
    bool has_level = false;
    f32 level = 0;
    bool has_slopes = false;
    std::array<f32, 3> dx{}, dy{};
};

/// A fetch with filtering, and with the level that the request selects.
[[nodiscard]] Texel sample(const Image& image, const Fetch& given) noexcept;

/// One component of the four texels that linear filtering of a plane would use, counterclockwise
/// from the lower left.
[[nodiscard]] Texel gather(const Image& image, const Fetch& fetch, u32 component) noexcept;

}  // namespace lode::emulator::exec
