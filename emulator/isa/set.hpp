// Flags of set and of packed setp.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

enum class Comparison : u32 { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

inline constexpr u32 set_comparison_mask = 15;
inline constexpr u32 set_combine_shift = 4;  ///< 0 none, 1 and, 2 or, 3 xor
inline constexpr u32 set_flush = 64;
inline constexpr u32 set_half_result = 128;
inline constexpr u32 set_bfloat_result = 256;

}  // namespace lode::emulator::exec
