// What compiled code calls for the optional checks.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// Tells the checks that are on of an access by a full warp: to consecutive elements, or to one.
/// `first` is the address of lane 0, an offset in shared memory. After an exception, which it keeps
/// in WarpContext::thrown, it returns false.
using NoteRun = bool (*)(WarpContext& c, const Op* op, u64 first) noexcept;
/// `bytes`: of an element, 1 to 8.
NoteRun note_run_of(u32 bytes, bool store, bool shared, bool uniform);

enum class NotedSums : u8 {
    thrown,        ///< As for NoteRun.
    told,          ///< The sums are to be made.
    need_handler,  ///< Nothing is told: the sums may order lanes, which the op's handler knows.
};
/// Tells the checks that are on of an atomic sum of 4 bytes by each lane of a full warp, at these
/// offsets in the block's shared memory.
NotedSums note_sums(WarpContext& c, const Op* op, const u32* offsets) noexcept;

}  // namespace lode::emulator::exec
