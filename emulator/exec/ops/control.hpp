// Control flow, barriers and the odd ones out: what the decoder asks for.
#pragma once

#include <emulator/exec/op.hpp>

namespace lode::emulator {

const Op* branch(Context& c, const Op* op);         ///< target
const Op* branch_if(Context& c, const Op* op);      ///< r[0] predicate, target
const Op* branch_unless(Context& c, const Op* op);  ///< r[0] predicate, target
/// r[0] indices, table: a vector of const Op*.
const Op* branch_indexed(Context& c, const Op* op);
const Op* exit_threads(Context& c, const Op* op);
const Op* return_from(Context& c, const Op* op);
const Op* call_direct(Context& c, const Op* op);    ///< table: CallSite
const Op* call_indirect(Context& c, const Op* op);  ///< table: CallSite
const Op* call_builtin(Context& c, const Op* op);   ///< table: CallSite

enum class BarrierKind : u16 { sync, arrive, popc, all, any };
/// r[0] result or no_slot, r[1] id, r[2] thread count or no_slot, r[3] predicate; flags:
/// BarrierKind, + barrier_negated.
const Op* block_barrier(Context& c, const Op* op);
inline constexpr u16 barrier_negated = 8;

const Op* trap(Context& c, const Op* op);
const Op* sleep(Context& c, const Op* op);
const Op* fence(Context& c, const Op* op);
const Op* read_clock32(Context& c, const Op* op);
const Op* read_clock64(Context& c, const Op* op);
const Op* read_globaltimer(Context& c, const Op* op);
/// r[0] = the frame's local base + imm, 64 bits.
const Op* local_address(Context& c, const Op* op);
/// isspacep: r[0] predicate, r[1] address; flags: a Window; flags2: 1 for constants.
const Op* is_space(Context& c, const Op* op);
/// Parameters of functions: r[0] data, r[1] offset of the first 4-byte row in the frame; flags:
/// bytes, flags2: which byte of the row.
const Op* load_row(Context& c, const Op* op);
const Op* store_row(Context& c, const Op* op);
/// Ends a kernel whose indirect call reached a function with an unsupported form; table: Refusal.
const Op* refused_form(Context& c, const Op* op);

}  // namespace lode::emulator
