// ld and st of elements of an array: r[n] is a row of 32-bit indices, r[5] a base that is the same
// in every lane, r[6] the scale. The additions and products that made the addresses in PTX are part
// of the op. Private to emulator/exec/ops/memory.
#pragma once

#include "emulator/exec/ops/memory/memory_lanes.hpp"

namespace lode::emulator::exec {

/// Addresses in Space: base + index * scale + imm.
template <class Space>
struct Indexed : Space {
    using Register = u32;
    using Address = typename Space::Address;

    /// The sign bit if indices are signed. An index with this bit flipped, minus the bit, is its
    /// value.
    [[gnu::always_inline]] static u32 flip(const Op* op) noexcept {
        return u32{op->flags.as<AccessFlags>().signed_index} << 31;
    }
    [[gnu::always_inline]] static u64 base(const WarpContext& c, const Op* op) noexcept {
        return *source<u64>(c, op->r[index_base_operand]) + op->imm -
               u64{flip(op)} * op->r[index_scale_operand];
    }
    template <u32 bytes>
    [[gnu::always_inline]] static Pattern pattern(const Op* op, const Register* a) noexcept {
        const Pattern made = pattern_of<1>(a);
        if (made == Pattern::run || made == Pattern::half_runs) {
            if (op->r[index_scale_operand] != bytes) return Pattern::any;
            // The indices of a run may wrap, but not its addresses.
            const u32 sign = flip(op);
            const bool wraps = (a[15] ^ sign) < (a[0] ^ sign) || (a[31] ^ sign) < (a[16] ^ sign) ||
                               (made == Pattern::run && (a[16] ^ sign) < (a[0] ^ sign));
            if (wraps) return Pattern::any;
        }
        return made;
    }
    [[gnu::always_inline]] static Address address(const WarpContext& c, const Op* op,
                                                  Register a) noexcept {
        const u64 distance = u64{a ^ flip(op)} * op->r[index_scale_operand];
        return static_cast<Address>(base(c, op) + distance);
    }
    [[gnu::always_inline]] static void addresses(const WarpContext& c, const Op* op, Address* to,
                                                 const Register* from) noexcept {
        const u64 start = base(c, op);
        const u32 sign = flip(op);
        const u64 scale = op->r[index_scale_operand];
        for (u32 i = 0; i < lanes; ++i)
            to[i] = static_cast<Address>(start + u64{from[i] ^ sign} * scale);
    }
};

}  // namespace lode::emulator::exec
