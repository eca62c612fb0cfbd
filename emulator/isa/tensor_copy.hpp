// Ops for tensor copies and tensor maps.
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/tensor_map.hpp"

namespace lode::emulator::exec {

/// What a tensor copy does.
enum class TensorCopy : u16 { load, store, reduce, prefetch };
inline constexpr u16 tensor_copy_mask = 3;
inline constexpr u16 tensor_gather = 4;  ///< Four rows, with .gather4 and .scatter4.
inline constexpr u16 tensor_axes_shift = 4;
/// A barrier without a rank is that of the even block of a pair.
inline constexpr u16 tensor_pair = 128;
inline constexpr u16 tensor_mode_shift = 8;  ///< Where a TensorMode is; with tensor_gather, tiles.

constexpr TensorMode tensor_mode(u16 flags) noexcept {
    return static_cast<TensorMode>(flags >> tensor_mode_shift);
}

enum class TensorField : u16 {
    global_address,
    rank,
    box_dim,
    global_dim,
    global_stride,
    element_stride,
    elemtype,
    interleave_layout,
    swizzle_mode,
    swizzle_atomicity,
    fill_mode
};

}  // namespace lode::emulator::exec
