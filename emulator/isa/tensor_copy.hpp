// Ops for tensor copies and tensor maps.
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/tensor_map.hpp"

namespace lode::emulator::exec {

/// Carries the coordinates of the tensor op that follows it, in r[0] to r[4], and in r[5] to r[7]
/// the offsets of im2col, or the halo and the offset of its wide modes; no_slot where there is
/// none.
const Op* tensor_operands(WarpContext& c, const Op* op);

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

/// cp.async.bulk.tensor and similar instructions: r[1] map (generic), r[2] shared address, r[3]
/// mbarrier, r[4] mask of the blocks that receive a copy; the last two may be no_slot. flags: as
/// above; flags2: for a reduction, the AtomicOp. The op before it is tensor_operands.
const Op* copy_tensor(WarpContext& c, const Op* op);

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
/// tensormap.replace: r[1] address, r[2] the 64-bit value; imm: the offset; flags: a TensorField;
/// flags2: the window as for atomics, and above 8 bits the ordinal.
const Op* replace_tensor_field(WarpContext& c, const Op* op);

/// tensormap.cp_fenceproxy: r[1] to, r[2] from, 128 bytes.
const Op* copy_tensor_map(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
