// Atomic ops.
#pragma once

#include "emulator/isa/operation.hpp"

namespace lode::emulator::exec {

enum class AtomicOp : u8 { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exch, cas };
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
/// flags: AtomicFlags.
constexpr Operation operation_of(AtomicType type) noexcept {
    return static_cast<Operation>(static_cast<u32>(Operation::first_atomic) |
                                  static_cast<u32>(type));
}
constexpr AtomicType atomic_type_of(Operation operation) noexcept {
    return static_cast<AtomicType>(static_cast<u32>(operation) & 0xffff);
}

struct AtomicFlags {
    AtomicOp operation = AtomicOp::add;
    bool flush : 1 = false;       ///< f32 in global memory flushes denormals.
    bool overwrites : 1 = false;  ///< An exchange whose result nothing uses.
    u8 unused : 6 = 0;
};

}  // namespace lode::emulator::exec
