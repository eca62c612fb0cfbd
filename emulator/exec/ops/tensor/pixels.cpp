#include "emulator/exec/ops/tensor/pixels.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// The first coordinate along an axis that is beyond the bounding box.
i64 box_end(const TensorMap& map, u32 axis, i64 offset) noexcept {
    return i64{map.last_coordinate[axis]} + 1 + map.upper[axis - 1] + offset;
}

}  // namespace

PixelWalk::PixelWalk(const TensorMap& map, const Coordinates& start, i64 offset) noexcept
    : map_(&map),
      at_(start),
      offset_(offset),
      images_(map.axes - 1u),
      end_(map.mode == TensorMode::im2col ? images_ : 2) {
    at_[1] += offset;
}

void PixelWalk::advance() noexcept {
    const auto step = [&](u32 axis) { return std::max<i64>(1, map_->steps[axis]); };
    at_[1] += step(1);
    for (u32 axis = 1; axis < end_; ++axis) {
        if (at_[axis] < box_end(*map_, axis, offset_)) break;
        at_[axis] = map_->lower[axis - 1] + offset_;
        if (axis + 1 < end_)
            at_[axis + 1] += step(axis + 1);
        else
            at_[images_] += 1;
    }
}

std::string_view tensor_mode_name(TensorMode mode) noexcept {
    constexpr std::string_view names[] = {"tiles", "im2col", "im2col::w", "im2col::w::128"};
    const auto number = static_cast<u8>(mode);
    return number < std::size(names) ? names[number] : "another mode";
}

std::string wrong_wide_column(const TensorMap& map, const Coordinates& start,
                              const WideOperands& operands, bool is_moved) {
    constexpr i64 most_offset = 31;
    const bool quarters = map.mode == TensorMode::im2col_w_128;
    const i64 most_halo = quarters ? 31 : 511;
    const std::string_view mode = tensor_mode_name(map.mode);
    if (operands.halo > most_halo) {
        return fmt::format("copies a halo of {} pixels; the most that {} copies is {}",
                           operands.halo, mode, most_halo);
    }
    if (operands.offset > most_offset) {
        return fmt::format("copies pixels with the offset {}; the most that {} has is {}",
                           operands.offset, mode, most_offset);
    }
    const i64 first = start[1] + operands.offset;
    if (const i64 end = box_end(map, 1, operands.offset); first >= end) {
        return fmt::format(
            "begins a column of pixels at {} along W, where the bounding box ends before {}", first,
            end);
    }
    if (quarters && is_moved && operands.halo > 1) {
        return fmt::format(
            "copies a halo of {} pixels with {}; their order in shared memory isn't certain, so "
            "that the software device copies at most 1",
            operands.halo, mode);
    }
    return {};
}

}  // namespace lode::emulator::exec
