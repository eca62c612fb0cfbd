// How tensor copies permute shared memory.
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/tensor_map.hpp"

namespace lode::emulator::exec {

/// Exchanges the 16-byte chunks of a shared address, or larger ones.
inline u32 swizzled(u32 address, TensorSwizzle swizzle) noexcept {
    const auto exchange = [&](u32 bits, u32 shift, u32 from) {
        return address ^ ((address >> from & bits) << shift);
    };
    switch (swizzle) {
        case TensorSwizzle::none:
            return address;
        case TensorSwizzle::bytes_32:
        case TensorSwizzle::bytes_96:
            return exchange(1, 4, 7);
        case TensorSwizzle::bytes_64:
            return exchange(3, 4, 7);
        case TensorSwizzle::bytes_128:
            return exchange(7, 4, 7);
        case TensorSwizzle::bytes_128_atom_32:
            return exchange(3, 5, 7);
        case TensorSwizzle::bytes_128_atom_32_flip_8:
            return exchange(3, 5, 7) ^ ((address >> 7 & 1) << 3);
        case TensorSwizzle::bytes_128_atom_64:
            return exchange(1, 6, 7);
    }
    return address;
}

/// Bytes from one row of a box to the next in shared memory; 0 if rows are dense.
inline u32 row_pitch(TensorSwizzle swizzle) noexcept {
    constexpr u32 pitches[] = {0, 32, 64, 128, 128, 128, 128, 96};
    return pitches[static_cast<u8>(swizzle)];
}

}  // namespace lode::emulator::exec
