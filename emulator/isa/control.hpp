// Ops for control flow, barriers and miscellaneous instructions.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

enum class BarrierKind : u16 { sync, arrive, popc, all, any };
inline constexpr u16 barrier_negated = 8;
inline constexpr u16 barrier_aligned = 16;  ///< All lanes of a warp execute it together.

}  // namespace lode::emulator::exec
