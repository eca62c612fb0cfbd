// Atomic ops.
#pragma once

#include "emulator/isa/operation.hpp"

namespace lode::emulator::exec {

enum class AtomicOp : u16 { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exch, cas };
enum class AtomicType : u16 { u16, u32, s32, u64, s64, f16, bf16, f16x2, bf16x2, f32, f64, b128 };

/// Bytes per value.
constexpr u32 atomic_bytes(AtomicType type) noexcept {
    switch (type) {
        case AtomicType::u16:
        case AtomicType::f16:
        case AtomicType::bf16:
            return 2;
        case AtomicType::u64:
        case AtomicType::s64:
        case AtomicType::f64:
            return 8;
        case AtomicType::b128:
            return 16;
        default:
            return 4;
    }
}
/// atom and red: r[0] old value or no_slot, r[1] address, r[2] and r[3] operands; imm: the offset;
/// flags: the AtomicOp; flags2: the window and the bits below.
constexpr Operation operation_of(AtomicType type) noexcept {
    return static_cast<Operation>(static_cast<u32>(Operation::first_atomic) |
                                  static_cast<u32>(type));
}
constexpr AtomicType atomic_type_of(Operation operation) noexcept {
    return static_cast<AtomicType>(static_cast<u32>(operation) & 0xffff);
}

inline constexpr u16 atomic_window_mask = 7;  ///< A Window; Window::code means a generic address.
inline constexpr u16 atomic_flush = 8;        ///< f32 in global memory flushes denormals.
inline constexpr u16 atomic_overwrites = 32;  ///< An exchange whose result nothing uses.
inline constexpr u16 atomic_narrow = 16;      ///< The addresses have 32 bits.

}  // namespace lode::emulator::exec
