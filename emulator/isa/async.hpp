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

inline constexpr u32 wait_for_all = ~u32{0};

}  // namespace lode::emulator::exec
