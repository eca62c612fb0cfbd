// Ops for asynchronous copies and mbarriers.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

// Flags of mbarrier_arrive.
inline constexpr u16 arrive_expect_tx = 1;
inline constexpr u16 arrive_drop = 2;
inline constexpr u16 arrive_nothing = 4;   ///< For expect_tx and complete_tx: no arrival.
inline constexpr u16 arrive_complete = 8;  ///< For complete_tx: subtracts the count.
inline constexpr u16 arrive_once = 16;     ///< For cp.async: arrives once, whatever the operand.
inline constexpr u16 arrive_copies = 32;   ///< For tcgen05.commit: what the thread has begun, too.

// r[0] result or no_slot, r[1] address, r[2] operand; flags2 as for atomics.
const Op* mbarrier_init(WarpContext& c, const Op* op);
const Op* mbarrier_arrive(WarpContext& c, const Op* op);
/// r[2]: the state, or the parity with flag 1; flag 2: gives up the turn if the phase is
/// incomplete.
const Op* mbarrier_test(WarpContext& c, const Op* op);
const Op* mbarrier_pending_count(WarpContext& c, const Op* op);
const Op* mbarrier_invalidate(WarpContext& c, const Op* op);

/// cp.async: r[1] to, r[2] from, r[3] bytes to read or no_slot, r[4] ignore predicate or no_slot;
/// flags: bytes to write. Earlier ops add the offsets.
const Op* copy_async(WarpContext& c, const Op* op);
/// Commits copies as a group; flags: 1 for bulk copies. Copies are complete at once, so that this
/// and the wait only matter to the race check.
const Op* copy_commit(WarpContext& c, const Op* op);
inline constexpr u32 wait_for_all = ~u32{0};
/// Waits for all but the last imm groups (wait_for_all: for all copies); flags: 1 for bulk copies,
/// 2 for what they read only.
const Op* copy_wait(WarpContext& c, const Op* op);
/// cp.async.bulk and cp.reduce.async.bulk: r[1] to, r[2] from, r[3] bytes; the others may be
/// no_slot: r[4] mbarrier, r[5] mask of the blocks that receive a copy, r[6] mask of the bytes of
/// each 16 to write. flags: 1 if the destination is shared, 2 if the source is shared, 4 to
/// prefetch only. flags2: for a reduction, the AtomicOp plus 1, and the AtomicType above 8 bits.
const Op* copy_bulk(WarpContext& c, const Op* op);
/// st.bulk: r[1] address, r[2] bytes; zeroes shared memory.
const Op* store_bulk(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
