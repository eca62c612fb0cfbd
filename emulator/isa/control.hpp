// Ops for control flow, barriers and miscellaneous instructions.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

const Op* branch(WarpContext& c, const Op* op);         ///< target
const Op* branch_if(WarpContext& c, const Op* op);      ///< r[0] predicate, target
const Op* branch_unless(WarpContext& c, const Op* op);  ///< r[0] predicate, target
/// r[0] indices; table: a vector of const Op*.
const Op* branch_indexed(WarpContext& c, const Op* op);
const Op* exit_threads(WarpContext& c, const Op* op);
const Op* return_from(WarpContext& c, const Op* op);
const Op* call_direct(WarpContext& c, const Op* op);    ///< table: CallSite
const Op* call_indirect(WarpContext& c, const Op* op);  ///< table: CallSite
const Op* call_builtin(WarpContext& c, const Op* op);   ///< table: CallSite

enum class BarrierKind : u16 { sync, arrive, popc, all, any };
/// r[0] result or no_slot, r[1] id, r[2] thread count or no_slot, r[3] predicate; flags:
/// BarrierKind + barrier_negated.
const Op* block_barrier(WarpContext& c, const Op* op);
inline constexpr u16 barrier_negated = 8;
inline constexpr u16 barrier_aligned = 16;  ///< All lanes of a warp execute it together.

const Op* trap(WarpContext& c, const Op* op);
/// An access to a multicast object: a fault, because there is none.
const Op* multicast_access(WarpContext& c, const Op* op);
const Op* sleep(WarpContext& c, const Op* op);
const Op* fence(WarpContext& c, const Op* op);
const Op* read_clock32(WarpContext& c, const Op* op);
const Op* read_clock64(WarpContext& c, const Op* op);
const Op* read_globaltimer(WarpContext& c, const Op* op);
/// r[0] = the frame's local base + imm, 64 bits.
const Op* local_address(WarpContext& c, const Op* op);
/// isspacep: r[0] predicate, r[1] address; flags: a Window; flags2: 1 for .const, 2 for the shared
/// memory of the block itself.
const Op* is_space(WarpContext& c, const Op* op);
/// Access to function parameters: r[0] data, r[1] frame offset of the first 4-byte row; flags:
/// bytes; flags2: byte offset in the row.
const Op* load_row(WarpContext& c, const Op* op);
const Op* store_row(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
