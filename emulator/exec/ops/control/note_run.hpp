// What compiled code calls for the optional checks.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// Reports an access by a full warp, to consecutive elements or to one, to the checks that are on.
/// `first` is the address of lane 0, an offset in shared memory. False after an exception, which it
/// keeps in WarpContext::thrown.
using NoteRun = bool (*)(WarpContext& c, const Op* op, u64 first) noexcept;
/// `bytes`: the size of an element, 1 to 8.
NoteRun note_run_of(u32 bytes, bool store, bool shared, bool uniform);

enum class NotedSums : u8 {
    thrown,        ///< As for NoteRun.
    reported,      ///< The sums are to be made.
    need_handler,  ///< Nothing is reported: the sums may order lanes, which the op's handler knows.
};
/// Reports an atomic sum of 4 bytes by each lane of a full warp, at these offsets in the block's
/// shared memory, to the checks that are on.
NotedSums note_sums(WarpContext& c, const Op* op, const u32* offsets) noexcept;

}  // namespace lode::emulator::exec
