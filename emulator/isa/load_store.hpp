// Memory ops.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// The index in Op::r of an access's index in Kernel::shared_variables; no_slot if unknown.
inline constexpr u32 variable_operand = 7;

/// In Op::flags: a bit for each register that memory is copied through. Only set for the check for
/// unwritten memory.
inline constexpr u16 access_copies = 15;
/// In Op::flags: the indices of indexed_handler() are signed.
inline constexpr u16 access_signed_index = 16;
inline constexpr u32 access_sign_shift = 4;

/// The unwritten bytes of the register r[0] are those of r[1]; none if that is no_slot. For
/// registers that memory is copied through.
const Op* copy_marks(WarpContext& c, const Op* op);

/// In Op::flags: the load may be of padding. Only set for the check for unwritten memory.
inline constexpr u16 access_padding = 32;

/// In Op::flags: r[parts + 1] and so on, where they are set, are the registers that copied values
/// come from or go to; their bytes have the marks. For narrower values, which have other slots.
inline constexpr u16 access_marks = 64;
/// The most values for access_marks. With more, copy_marks() moves the marks.
inline constexpr u32 most_marked = 2;

enum class MemorySpace : u8 { global, generic, shared, local, parameter };

/// r[0] = the generic address of the lane's own local memory at r[1], 64 bits each.
const Op* generic_local_address(WarpContext& c, const Op* op);

/// The handler of a load or store of `parts` elements of `bytes` each; nullptr if there is none.
/// `narrow`: the addresses are in a 32-bit register (shared and local memory only).
Handler memory_handler(MemorySpace space, bool store, u32 bytes, u32 parts, bool narrow);

/// The handler of an access to global or shared memory, with addresses made of an index: r[parts]
/// is a row of 32-bit indices.
Handler indexed_handler(MemorySpace space, bool store, u32 bytes, u32 parts);
/// The base, a slot whose 64-bit values are the same in every lane.
inline constexpr u32 index_base_operand = 5;
/// The scale itself.
inline constexpr u32 index_scale_operand = 6;

}  // namespace lode::emulator::exec
