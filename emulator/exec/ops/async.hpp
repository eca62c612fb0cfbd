// Asynchronous copies and memory barriers: what the decoder asks for.
#pragma once

#include <emulator/exec/op.hpp>

namespace lode::emulator {

/// An mbarrier object as this device keeps it in its 8 bytes: bits 0-19 arrivals pending, 20-39
/// arrivals expected, 40-62 bytes of transactions outstanding (signed), 63 the phase's parity.
struct MemoryBarrier {
    u64 bits;

    static MemoryBarrier of(u32 count) noexcept {
        return {u64{count & 0xfffff} | (u64{count & 0xfffff} << 20)};
    }
    [[nodiscard]] u32 pending() const noexcept { return bits & 0xfffff; }
    [[nodiscard]] u32 expected() const noexcept { return (bits >> 20) & 0xfffff; }
    [[nodiscard]] i32 transactions() const noexcept {
        return static_cast<i32>(static_cast<i64>(bits << 1) >> 41);
    }
    [[nodiscard]] u32 parity() const noexcept { return static_cast<u32>(bits >> 63); }
    /// One step: adds transactions, takes arrivals; ends the phase when nothing is outstanding.
    void advance(i32 add_transactions, u32 arrivals, u32 dropped) noexcept;
};

// Flags of mbarrier_arrive.
inline constexpr u16 arrive_expect_tx = 1;
inline constexpr u16 arrive_drop = 2;
inline constexpr u16 arrive_nothing = 4;   ///< expect_tx, complete_tx: no arrival.
inline constexpr u16 arrive_complete = 8;  ///< complete_tx: the count is taken off.
inline constexpr u16 arrive_once = 16;     ///< cp.async's: by one, whatever the operand.

// r[0] result or no_slot, r[1] address, r[2] operand; flags2 as for atomics.
const Op* mbarrier_init(Context& c, const Op* op);
const Op* mbarrier_arrive(Context& c, const Op* op);
/// r[2]: the state, or with flags 1 the parity; flags 2: suspend the thread when it isn't over.
const Op* mbarrier_test(Context& c, const Op* op);
const Op* mbarrier_pending_count(Context& c, const Op* op);
const Op* mbarrier_invalidate(Context& c, const Op* op);

/// cp.async: r[1] to, r[2] from, r[3] bytes to read or no_slot, r[4] the ignore predicate or
/// no_slot; flags: bytes to write; imm, `table` unused. Offsets are added by ops before.
const Op* copy_async(Context& c, const Op* op);
/// cp.async.bulk: r[1] to, r[2] from, r[3] bytes, r[4] the mbarrier or no_slot. flags: 1 the
/// destination is shared, 2 the source is shared, 4 prefetch only.
const Op* copy_bulk(Context& c, const Op* op);
/// st.async and red.async are refused; st.bulk: r[1] address, r[2] bytes; zeros shared memory.
const Op* store_bulk(Context& c, const Op* op);

}  // namespace lode::emulator
