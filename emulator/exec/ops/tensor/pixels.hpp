// The pixels that im2col copies, in the order of shared memory.
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/tensor_map.hpp"

#include <array>
#include <string>
#include <string_view>

namespace lode::emulator::exec {

using Coordinates = std::array<i64, most_tensor_axes>;

/// Visits the pixels of a bounding box, and then those of the next image. The box of im2col bounds
/// W, H and D; that of the wide modes bounds W, and an offset moves it together with the start.
class PixelWalk {
public:
    PixelWalk(const TensorMap& map, const Coordinates& start, i64 offset = 0) noexcept;

    [[nodiscard]] const Coordinates& at() const noexcept { return at_; }
    void advance() noexcept;

private:
    const TensorMap* map_;
    Coordinates at_;
    i64 offset_;
    u32 images_;  ///< The axis of the images.
    u32 end_;     ///< The axes from 1 to here are bounded.
};

/// The operands of im2col::w and im2col::w::128 beside the coordinates.
struct WideOperands {
    i64 halo = 0;    ///< Pixels beyond those of a column, or of a quarter of one.
    i64 offset = 0;  ///< Along W.
};

/// "im2col::w" and similar; "tiles".
[[nodiscard]] std::string_view tensor_mode_name(TensorMode mode) noexcept;

/// What is wrong with a wide copy, as the rest of a sentence about a lane; empty if it is right.
/// `is_moved`: the pixels reach shared memory.
[[nodiscard]] std::string wrong_wide_column(const TensorMap& map, const Coordinates& start,
                                            const WideOperands& operands, bool is_moved);

/// Calls `move` with the coordinates of each pixel, until it returns false. With im2col::w the halo
/// continues the walk. With im2col::w::128 the column's 128 pixels are in four quarters; a halo
/// continues each of them, and all halos lie after the column, the first pixels of the four first.
template <class Move>
bool each_wide_pixel(const TensorMap& map, const Coordinates& start, const WideOperands& operands,
                     Move&& move) {
    constexpr u32 quarters = 4;
    constexpr u32 quarter = 32;
    PixelWalk walk(map, start, operands.offset);
    const auto visit = [&](PixelWalk& from, i64 count) {
        for (i64 pixel = 0; pixel < count; ++pixel, from.advance()) {
            if (!move(from.at())) return false;
        }
        return true;
    };
    if (map.mode == TensorMode::im2col_w) return visit(walk, map.pixels + operands.halo);
    std::array<PixelWalk, quarters> halos{walk, walk, walk, walk};
    for (PixelWalk& halo : halos) {
        if (!visit(walk, quarter)) return false;
        halo = walk;
    }
    for (i64 pixel = 0; pixel < operands.halo; ++pixel) {
        for (PixelWalk& halo : halos) {
            if (!visit(halo, 1)) return false;
        }
    }
    return true;
}

}  // namespace lode::emulator::exec
