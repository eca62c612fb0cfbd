// What compiled code calls for the optional checks.
#pragma once

#include "emulator/decode/op.hpp"

namespace lode::emulator::exec {

/// Tells the checks that are on of an access by a full warp: to consecutive elements, or to one.
/// `first` is the address of lane 0, an offset in shared memory. After an exception, which it keeps
/// in WarpContext::thrown, it returns false.
using NoteRun = bool (*)(WarpContext& c, const Op* op, u64 first) noexcept;
/// `bytes`: of an element, 1 to 8.
NoteRun note_run_of(u32 bytes, bool store, bool shared, bool uniform);

}  // namespace lode::emulator::exec
