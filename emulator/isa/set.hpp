// Flags of set and setp.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

enum class Comparison : u16 { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

/// How a comparison is combined with a predicate: the flags of setp.x.
enum class Combination : u16 { none, bit_and, bit_or, bit_xor };
struct SetFlags {
    Comparison comparison : 4 = Comparison::eq;
    Combination combination : 2 = Combination::none;
    bool flush : 1 = false;
    bool half_result : 1 = false;
    bool bfloat_result : 1 = false;
    u16 unused : 7 = 0;
};

}  // namespace lode::emulator::exec
