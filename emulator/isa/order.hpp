// How an access or a fence orders memory: bits of Op::flags2 of loads, stores and atomics, and of
// Op::flags of fences. An access without a scope is weak.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

inline constexpr u16 order_cta = 0x100;      ///< Strong among the threads of a block.
inline constexpr u16 order_gpu = 0x200;      ///< Strong among all threads.
inline constexpr u16 order_acquire = 0x400;  ///< Later accesses stay after it.
inline constexpr u16 order_release = 0x800;  ///< Earlier accesses stay before it.
/// A volatile load whose value decides nothing in its function: to be right, it needs an order that
/// `volatile` doesn't give, so the race check takes it for a weak one.
inline constexpr u16 order_data = 0x1000;
/// A load whose value is compared with memory by a compare-and-swap, which fails if it was stale.
inline constexpr u16 order_validated = 0x2000;
/// A fence that orders generic accesses to shared memory before those of the asynchronous proxy.
inline constexpr u16 order_proxy = 0x4000;
inline constexpr u16 order_strong = order_cta | order_gpu;

/// Whether a load, a store or an atomic is strong among any threads.
inline bool is_strong(const Op* op) noexcept {
    return (op->flags2 & order_strong) != 0;
}

}  // namespace lode::emulator::exec
