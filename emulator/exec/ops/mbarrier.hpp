// The mbarrier object of shared memory.
#pragma once

#include "emulator/decode/op.hpp"

namespace lode::emulator::exec {

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

}  // namespace lode::emulator::exec
