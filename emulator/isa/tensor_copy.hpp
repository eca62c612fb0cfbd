// Ops for tensor copies and tensor maps.
#pragma once

#include "emulator/isa/atomic.hpp"
#include "emulator/memory/tensor_map.hpp"

namespace lode::emulator::exec {

/// What a tensor copy does.
enum class TensorCopy : u8 { load, store, reduce, prefetch };
struct TensorCopyFlags {
    TensorCopy what : 2 = TensorCopy::load;
    u8 axes : 3 = 0;
    bool gathers : 1 = false;  ///< Four rows, with .gather4 and .scatter4; the mode is tiles.
    bool by_pair : 1 = false;  ///< A barrier without a rank is that of the even block of a pair.
    u8 unused : 1 = 0;
    TensorMode mode : 4 = TensorMode::tile;
    AtomicOp reduction : 4 = AtomicOp::add;
};

enum class TensorField : u8 {
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
struct TensorFieldFlags {
    TensorField field = TensorField::global_address;
    u8 ordinal = 0;
};

}  // namespace lode::emulator::exec
