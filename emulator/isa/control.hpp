// Ops for control flow, barriers and miscellaneous instructions.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

enum class BarrierKind : u8 { sync, arrive, popc, all, any };
struct BarrierFlags {
    BarrierKind kind = BarrierKind::sync;
    bool aligned = false;  ///< All lanes of a warp execute it together.
};

/// When an op that compares and branches goes to its target.
enum class BranchWhen : u16 { holds, fails };

/// What isspacep asks.
struct SpaceFlags {
    u8 window : 4 = 0;           ///< A Window.
    bool constants : 1 = false;  ///< In the global window: .const only; otherwise all else.
    bool own : 1 = false;        ///< In the shared window: the memory of the block itself.
    u8 unused : 2 = 0;
};

/// The part of a row of a parameter that an op accesses.
struct RowFlags {
    u8 bytes = 0;
    u8 offset = 0;  ///< In the row, in bytes.
};

}  // namespace lode::emulator::exec
