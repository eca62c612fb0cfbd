// Ops for asynchronous copies and mbarriers.
#pragma once

#include "emulator/isa/atomic.hpp"

namespace lode::emulator::exec {

struct ArriveFlags {
    bool expect_tx : 1 = false;
    bool drop : 1 = false;
    bool nothing : 1 = false;   ///< For expect_tx and complete_tx: no arrival.
    bool complete : 1 = false;  ///< For complete_tx: subtracts the count.
    bool once : 1 = false;      ///< For cp.async: arrives once, whatever the operand.
    bool copies : 1 = false;    ///< For tcgen05.commit: what the thread has begun, too.
    u8 unused : 2 = 0;
};
struct MbarrierTestFlags {
    bool by_parity = false;    ///< The operand is the parity, otherwise the state.
    bool may_suspend = false;  ///< Gives up the turn if the phase is incomplete.
};
struct CopyGroupFlags {
    bool bulk = false;
    bool reads_only = false;  ///< Waits for what the copies read only.
};
struct BulkFlags {
    bool to_shared : 1 = false;
    bool from_shared : 1 = false;
    bool prefetches : 1 = false;  ///< Nothing is copied.
    bool reduces : 1 = false;
    AtomicOp reduction : 4 = AtomicOp::add;
    AtomicType type : 4 = AtomicType::u16;
    bool ignores : 1 = false;  ///< The first and last bytes, which may lie outside an allocation.
    u16 unused : 3 = 0;
};

inline constexpr u32 wait_for_all = ~u32{0};

}  // namespace lode::emulator::exec
