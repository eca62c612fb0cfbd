// The quick part of the race check for compiled code. Private to emulator/exec.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// Records an access by a full warp if it needs no closer look: to consecutive elements in whole
/// rows of cells, or of all lanes to one element. False if nothing is recorded.
template <bool shared, bool writes, u32 bytes, bool uniform>
bool race_quick(WarpContext& c, const Op* op, u64 address);

/// Whether race_quick() exists for such an access.
constexpr bool has_race_quick(bool writes, u32 bytes, bool uniform) {
    return uniform ? bytes == 4 && !writes : bytes >= 4;
}

}  // namespace lode::emulator::exec
