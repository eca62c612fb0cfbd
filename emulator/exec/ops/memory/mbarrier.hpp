// The mbarrier object in shared memory.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// The layout of an mbarrier object in 8 bytes: bits 0-19 pending arrivals, 20-39 expected
/// arrivals, 40-61 outstanding transaction bytes (signed), 62 whether it is .layout::v1, 63 the
/// parity of the phase.
struct MemoryBarrier {
    u64 bits;

    static MemoryBarrier of(u32 count, bool second_layout) noexcept {
        return {u64{count & 0xfffff} | (u64{count & 0xfffff} << 20) | u64{second_layout} << 62};
    }
    [[nodiscard]] u32 pending() const noexcept { return bits & 0xfffff; }
    [[nodiscard]] u32 expected() const noexcept { return (bits >> 20) & 0xfffff; }
    [[nodiscard]] i32 transactions() const noexcept {
        return static_cast<i32>(static_cast<i64>(bits << 2) >> 42);
    }
    [[nodiscard]] bool has_second_layout() const noexcept { return (bits >> 62 & 1) != 0; }
    [[nodiscard]] u32 parity() const noexcept { return static_cast<u32>(bits >> 63); }
    /// Adds transactions and counts arrivals; completes the phase if nothing is outstanding.
    void advance(i32 add_transactions, u32 arrivals, u32 dropped) noexcept;
};

}  // namespace lode::emulator::exec
