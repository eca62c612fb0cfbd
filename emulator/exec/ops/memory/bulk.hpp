// What bulk copies and tensor copies share.
#pragma once

#include "emulator/exec/ops/memory/copy_order.hpp"
#include "emulator/isa/atomic.hpp"

namespace lode::emulator::exec {

/// A range of a bulk copy: checks that both ends are accessible, and every allocation in between.
/// nullptr after a fault.
u8* bulk_range(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, bool shared,
               Access access);
/// Counts a copy's bytes at an mbarrier; false after a fault.
bool complete_bytes(WarpContext& c, const Op* op, u32 lane, u64 barrier, u32 bytes,
                    CopyOrder& order);
/// The address in the shared memory of the block of this rank with the same offset.
u64 in_block(u64 address, u32 rank) noexcept;
/// to[k] = what(to[k], from[k]) for the elements in `bytes`; atomically, unless `own` says that no
/// other worker accesses them.
void combine_elements(AtomicType type, AtomicOp what, u8* to, const u8* from, u32 bytes, bool own);

}  // namespace lode::emulator::exec
