// Asynchronous copies and memory barriers: what the decoder asks for.
#pragma once

#include "emulator/decode/op.hpp"

namespace lode::emulator::exec {

// Flags of mbarrier_arrive.
inline constexpr u16 arrive_expect_tx = 1;
inline constexpr u16 arrive_drop = 2;
inline constexpr u16 arrive_nothing = 4;   ///< expect_tx, complete_tx: no arrival.
inline constexpr u16 arrive_complete = 8;  ///< complete_tx: the count is taken off.
inline constexpr u16 arrive_once = 16;     ///< cp.async's: by one, whatever the operand.

// r[0] result or no_slot, r[1] address, r[2] operand; flags2 as for atomics.
const Op* mbarrier_init(WarpContext& c, const Op* op);
const Op* mbarrier_arrive(WarpContext& c, const Op* op);
/// r[2]: the state, or with flags 1 the parity; flags 2: suspend the thread when it isn't over.
const Op* mbarrier_test(WarpContext& c, const Op* op);
const Op* mbarrier_pending_count(WarpContext& c, const Op* op);
const Op* mbarrier_invalidate(WarpContext& c, const Op* op);

/// cp.async: r[1] to, r[2] from, r[3] bytes to read or no_slot, r[4] the ignore predicate or
/// no_slot; flags: bytes to write; imm, `table` unused. Offsets are added by ops before.
const Op* copy_async(WarpContext& c, const Op* op);
/// cp.async.bulk: r[1] to, r[2] from, r[3] bytes, r[4] the mbarrier or no_slot. flags: 1 the
/// destination is shared, 2 the source is shared, 4 prefetch only.
const Op* copy_bulk(WarpContext& c, const Op* op);
/// st.async and red.async are refused; st.bulk: r[1] address, r[2] bytes; zeros shared memory.
const Op* store_bulk(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
